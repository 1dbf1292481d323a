; The few functions of shared memory that Python cannot be trusted with. `python -m hil.ipc.shm.compile` compiles them into
; machine_code.py; why they are as they are: decision 0006.
;
; Order is kept by construction, for LLVM and for the processor: a counter is stored with release and loaded with acquire
; order, fences stand where that alone does not do, and shared payload moves in relaxed atomic words, so none of it is a
; data race. The base instructions of x86-64 and of ARMv8.0 do. Layouts of the arguments:
;
;   box   i64[4]: address of the counter, of the 8 slots, of a private scratch slot; bytes of a record
;   ring  i64[6]: address of the control words, of the rows; capacity; bytes from row to row; bytes of a row; cursors
;   control words, 128 bytes from one to the next: rows published, rows begun, rows released by cursor 0, 1, ...
;
; Slots and rows in shared memory lie on 8 bytes; private memory may lie anywhere.

; ---- private to shared
define internal void @put(ptr %to, ptr %from, i64 %bytes) alwaysinline {
entry:
  %words = and i64 %bytes, -8
  br label %word
word:
  %i = phi i64 [0, %entry], [%i.next, %move]
  %more = icmp ult i64 %i, %words
  br i1 %more, label %move, label %byte
move:
  %from.i = getelementptr i8, ptr %from, i64 %i
  %to.i = getelementptr i8, ptr %to, i64 %i
  %value = load i64, ptr %from.i, align 1
  store atomic i64 %value, ptr %to.i monotonic, align 8
  %i.next = add i64 %i, 8
  br label %word
byte:
  %j = phi i64 [%i, %word], [%j.next, %rest]
  %left = icmp ult i64 %j, %bytes
  br i1 %left, label %rest, label %done
rest:
  %from.j = getelementptr i8, ptr %from, i64 %j
  %to.j = getelementptr i8, ptr %to, i64 %j
  %tail = load i8, ptr %from.j, align 1
  store atomic i8 %tail, ptr %to.j monotonic, align 1
  %j.next = add i64 %j, 1
  br label %byte
done:
  ret void
}

; ---- shared to private
define internal void @get(ptr %to, ptr %from, i64 %bytes) alwaysinline {
entry:
  %words = and i64 %bytes, -8
  br label %word
word:
  %i = phi i64 [0, %entry], [%i.next, %move]
  %more = icmp ult i64 %i, %words
  br i1 %more, label %move, label %byte
move:
  %from.i = getelementptr i8, ptr %from, i64 %i
  %to.i = getelementptr i8, ptr %to, i64 %i
  %value = load atomic i64, ptr %from.i monotonic, align 8
  store i64 %value, ptr %to.i, align 1
  %i.next = add i64 %i, 8
  br label %word
byte:
  %j = phi i64 [%i, %word], [%j.next, %rest]
  %left = icmp ult i64 %j, %bytes
  br i1 %left, label %rest, label %done
rest:
  %from.j = getelementptr i8, ptr %from, i64 %j
  %to.j = getelementptr i8, ptr %to, i64 %j
  %tail = load atomic i8, ptr %from.j monotonic, align 1
  store i8 %tail, ptr %to.j, align 1
  %j.next = add i64 %j, 1
  br label %byte
done:
  ret void
}

; ---- a counter or a heartbeat, as it stands
define i64 @load(ptr %word) {
  %value = load atomic i64, ptr %word acquire, align 8
  ret i64 %value
}

; ---- a counter or a heartbeat; whatever was written before is seen before
define void @store(ptr %word, i64 %value) {
  store atomic i64 %value, ptr %word release, align 8
  ret void
}

; ---- mailbox: write. The 8 slots take turns: the newest value stays whole while the next 7 are written
define i64 @publish(ptr %box, ptr %record) {
  %counter = load ptr, ptr %box
  %box.1 = getelementptr i64, ptr %box, i64 1
  %slots = load ptr, ptr %box.1
  %box.3 = getelementptr i64, ptr %box, i64 3
  %bytes = load i64, ptr %box.3
  %up = add i64 %bytes, 7
  %stride = and i64 %up, -8
  %version = load atomic i64, ptr %counter monotonic, align 8
  %new = add i64 %version, 1
  %turn = and i64 %new, 7
  %offset = mul i64 %turn, %stride
  %slot = getelementptr i8, ptr %slots, i64 %offset
  fence release                                ; older versions are out before this one overwrites one
  call void @put(ptr %slot, ptr %record, i64 %bytes)
  store atomic i64 %new, ptr %counter release, align 8
  ret i64 %new
}

; ---- mailbox: read. Version; 0 if there has been none; -1 if 7 writes were complete in each of 16 copies.
; %out is written only with a whole value
define i64 @snapshot(ptr %box, ptr %out) {
entry:
  %counter = load ptr, ptr %box
  %box.1 = getelementptr i64, ptr %box, i64 1
  %slots = load ptr, ptr %box.1
  %box.2 = getelementptr i64, ptr %box, i64 2
  %scratch = load ptr, ptr %box.2
  %box.3 = getelementptr i64, ptr %box, i64 3
  %bytes = load i64, ptr %box.3
  %up = add i64 %bytes, 7
  %stride = and i64 %up, -8
  br label %try
try:
  %n = phi i64 [0, %entry], [%n.next, %again]
  %version = load atomic i64, ptr %counter acquire, align 8
  %none = icmp eq i64 %version, 0
  br i1 %none, label %empty, label %copy
copy:
  %turn = and i64 %version, 7
  %offset = mul i64 %turn, %stride
  %slot = getelementptr i8, ptr %slots, i64 %offset
  call void @get(ptr %scratch, ptr %slot, i64 %bytes)
  fence acquire                                ; the copy is complete before the counter is looked at again
  %after = load atomic i64, ptr %counter monotonic, align 8
  %writes = sub i64 %after, %version
  %whole = icmp ult i64 %writes, 7             ; with the 7th complete the next may have begun, in this slot
  br i1 %whole, label %give, label %again
again:
  %n.next = add i64 %n, 1
  %left = icmp ult i64 %n.next, 16
  br i1 %left, label %try, label %stale
give:
  call void @get(ptr %out, ptr %scratch, i64 %bytes)
  ret i64 %version
empty:
  ret i64 0
stale:
  ret i64 -1
}

; ---- ring: write. 1; or 0 and nothing done if a cursor has not released enough rows
define i64 @append(ptr %ring, ptr %rows, i64 %count) {
entry:
  %control = load ptr, ptr %ring
  %ring.1 = getelementptr i64, ptr %ring, i64 1
  %data = load ptr, ptr %ring.1
  %ring.2 = getelementptr i64, ptr %ring, i64 2
  %capacity = load i64, ptr %ring.2
  %ring.3 = getelementptr i64, ptr %ring, i64 3
  %stride = load i64, ptr %ring.3
  %ring.4 = getelementptr i64, ptr %ring, i64 4
  %bytes = load i64, ptr %ring.4
  %ring.5 = getelementptr i64, ptr %ring, i64 5
  %cursors = load i64, ptr %ring.5
  %end = load atomic i64, ptr %control monotonic, align 8
  %new = add i64 %end, %count
  br label %room
room:
  %i = phi i64 [0, %entry], [%i.next, %look]
  %i.next = add i64 %i, 1
  %unseen = icmp ult i64 %i, %cursors
  br i1 %unseen, label %look, label %begin
look:
  %cursor.i = add i64 %i, 2
  %cursor.offset = mul i64 %cursor.i, 128
  %cursor = getelementptr i8, ptr %control, i64 %cursor.offset
  %released = load atomic i64, ptr %cursor acquire, align 8
  %unread = sub i64 %new, %released
  %full = icmp sgt i64 %unread, %capacity
  br i1 %full, label %refuse, label %room
refuse:
  ret i64 0
begin:
  %begun.at = getelementptr i8, ptr %control, i64 128
  %before = load atomic i64, ptr %begun.at monotonic, align 8  ; beyond %end if a writer was killed in mid-append
  %further = icmp sgt i64 %before, %new
  %begun = select i1 %further, i64 %before, i64 %new
  store atomic i64 %begun, ptr %begun.at monotonic, align 8
  fence release                                ; readers know of the overwriting before any of it
  %first = urem i64 %end, %capacity
  br label %row
row:
  %k = phi i64 [0, %begin], [%k.next, %write]
  %slot.i = phi i64 [%first, %begin], [%slot.next, %write]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %write, label %publish
write:
  %slot.offset = mul i64 %slot.i, %stride
  %slot = getelementptr i8, ptr %data, i64 %slot.offset
  %row.offset = mul i64 %k, %bytes
  %source = getelementptr i8, ptr %rows, i64 %row.offset
  call void @put(ptr %slot, ptr %source, i64 %bytes)
  %k.next = add i64 %k, 1
  %slot.up = add i64 %slot.i, 1
  %wrap = icmp eq i64 %slot.up, %capacity
  %slot.next = select i1 %wrap, i64 0, i64 %slot.up
  br label %row
publish:
  store atomic i64 %new, ptr %control release, align 8
  ret i64 1
}

; ---- ring: copy rows %first .. %first + %count, and return the number of the first row that surely was not overwritten
define i64 @fetch(ptr %ring, ptr %out, i64 %first, i64 %count) {
entry:
  %control = load ptr, ptr %ring
  %ring.1 = getelementptr i64, ptr %ring, i64 1
  %data = load ptr, ptr %ring.1
  %ring.2 = getelementptr i64, ptr %ring, i64 2
  %capacity = load i64, ptr %ring.2
  %ring.3 = getelementptr i64, ptr %ring, i64 3
  %stride = load i64, ptr %ring.3
  %ring.4 = getelementptr i64, ptr %ring, i64 4
  %bytes = load i64, ptr %ring.4
  %start = urem i64 %first, %capacity
  br label %row
row:
  %k = phi i64 [0, %entry], [%k.next, %read]
  %slot.i = phi i64 [%start, %entry], [%slot.next, %read]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %read, label %check
read:
  %slot.offset = mul i64 %slot.i, %stride
  %slot = getelementptr i8, ptr %data, i64 %slot.offset
  %row.offset = mul i64 %k, %bytes
  %target = getelementptr i8, ptr %out, i64 %row.offset
  call void @get(ptr %target, ptr %slot, i64 %bytes)
  %k.next = add i64 %k, 1
  %slot.up = add i64 %slot.i, 1
  %wrap = icmp eq i64 %slot.up, %capacity
  %slot.next = select i1 %wrap, i64 0, i64 %slot.up
  br label %row
check:
  fence acquire
  %begun.at = getelementptr i8, ptr %control, i64 128
  %begun = load atomic i64, ptr %begun.at monotonic, align 8
  %oldest = sub i64 %begun, %capacity
  ret i64 %oldest
}
