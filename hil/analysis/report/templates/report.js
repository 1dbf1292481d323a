(function () {
  "use strict";
  var body = document.querySelector("#table tbody"), rows = [].slice.call(body.rows);

  function by(id) { return document.getElementById(id); }
  function text(row, column) { return row.cells[column].textContent.trim(); }
  // minus signs and dashes: what is no number sorts last, in both directions
  function number(words) { return /^[-+]?[\d.]+$/.test(words) ? Number(words) : NaN; }

  function sorts() {
    var heads = [].slice.call(document.querySelectorAll("#table thead th")), last = -1, sign = 1;
    heads.forEach(function (head, column) {
      var button = document.createElement("button"), printed = document.createElement("span");
      button.type = "button";
      button.textContent = printed.textContent = head.textContent;
      printed.className = "printed";  // a button is not repeated on each page of a print
      head.replaceChildren(button, printed);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () {
        sign = column === last ? -sign : 1;
        last = column;
        heads.forEach(function (other) { other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        rows.slice().sort(function (one, other) {
          var a = text(one, column), b = text(other, column), x = number(a), y = number(b);
          if (isNaN(x) !== isNaN(y)) { return isNaN(x) ? 1 : -1; }
          return sign * (isNaN(x) ? a.localeCompare(b) : x - y) || rows.indexOf(one) - rows.indexOf(other);
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  }

  function filters() {
    var choices = [].slice.call(document.querySelectorAll(".filters select")), words = by("words");
    function filter() {
      var shown = 0;
      rows.forEach(function (row) {
        row.hidden = choices.some(function (choice) {
          return choice.value && text(row, Number(choice.dataset.column)) !== choice.value;
        }) || row.textContent.toLowerCase().indexOf(words.value.trim().toLowerCase()) < 0;
        shown += row.hidden ? 0 : 1;
      });
      by("shown").textContent = shown + " of " + rows.length + " trials";
    }
    choices.forEach(function (choice) {
      var found = rows.map(function (row) { return text(row, Number(choice.dataset.column)); });
      found = found.filter(function (one, place) { return found.indexOf(one) === place; });
      found.sort(function (a, b) { return number(a) - number(b) || a.localeCompare(b); });
      choice.add(new Option("all", ""));
      found.forEach(function (one) { choice.add(new Option(one, one)); });
      choice.addEventListener("change", filter);
    });
    words.addEventListener("input", filter);
    document.querySelector(".filters").hidden = false;
    filter();
  }

  function viewer() {
    var traces = {}, labels = [], plot = null, choice = by("trial"), place = by("plot");
    document.querySelectorAll("script.trace").forEach(function (node) {
      traces[node.dataset.trial] = node;
      labels.push(node.dataset.trial);
    });
    if (!labels.length || typeof uPlot === "undefined") { return; }

    function values(node) {
      var raw = atob(node.textContent.trim()), bytes = new Uint8Array(raw.length);
      for (var i = 0; i < raw.length; i++) { bytes[i] = raw.charCodeAt(i); }
      var view = new DataView(bytes.buffer), points = Number(node.dataset.points), series = [];
      for (var first = 0; first < bytes.length; first += 4 * points) {
        var one = new Float64Array(points);
        for (var k = 0; k < points; k++) { one[k] = view.getFloat32(first + 4 * k, true); }
        series.push(one);
      }
      var times = new Float64Array(points);
      for (var t = 0; t < points; t++) { times[t] = Number(node.dataset.start) + t * Number(node.dataset.step); }
      return [times].concat(series);
    }

    function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
    var dashes = [[], [10, 4], [2, 3]];
    function series(name, number) {
      var line = { label: name, width: 1.2, points: { show: false } };
      if (name === "sum") { line.stroke = colour("ink"); line.width = 2; }
      else if (name === "sum, corrected") { line.stroke = colour("corrected"); line.width = 2; line.dash = [6, 4]; }
      else { line.stroke = colour("channel" + number % 3); line.dash = dashes[number % 3]; }
      line.value = function (_, v) { return v === null || v === undefined ? "-" : v.toFixed(2); };
      return line;
    }
    function axis(label, size) {
      return { label: label, size: size, stroke: colour("ink"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
    }
    function size() { return { width: place.clientWidth, height: place.clientWidth < 600 ? 300 : 380 }; }

    function show() {
      var node = traces[choice.value], row = by("trial-" + choice.value), limits = size();
      if (plot) { plot.destroy(); }
      plot = new uPlot({
        width: limits.width, height: limits.height, scales: { x: { time: false } },
        cursor: { drag: { x: true, y: true, uni: 30 } },
        axes: [axis("time after the threshold [s]", 50),
               axis(node.dataset.unit === "N" ? "force [N]" : "reading [V]", 60)],
        series: [{ label: "time [s]", value: function (_, v) { return v === null || v === undefined ? "-" : v.toFixed(4); } }]
          .concat(node.dataset.names.split("|").map(series))
      }, values(node), place);
      rows.forEach(function (one) { one.classList.toggle("open", one === row); });
      by("said").textContent = "Trial " + choice.value + ": " + [text(row, 1), text(row, 8)].filter(Boolean).join(": ");
    }
    function step(by_) {
      choice.selectedIndex = (choice.selectedIndex + by_ + labels.length) % labels.length;
      show();
    }
    function open(label) {
      if (!traces[label]) { return false; }
      choice.value = label;
      show();
      by("traces").scrollIntoView();
      choice.focus({ preventScroll: true });
      return true;
    }

    document.querySelectorAll(".viewer").forEach(function (one) { one.hidden = false; });
    choice.addEventListener("change", show);
    by("before").addEventListener("click", function () { step(-1); });
    by("after").addEventListener("click", function () { step(1); });
    document.querySelectorAll("a.to-trace").forEach(function (link) {
      link.addEventListener("click", function (event) {
        event.stopPropagation();
        if (open(link.textContent)) { event.preventDefault(); }
      });
    });
    rows.forEach(function (row) {
      row.classList.toggle("opens", Boolean(traces[row.id.slice(6)]));
      row.addEventListener("click", function () {
        if (!String(window.getSelection())) { open(row.id.slice(6)); }
      });
    });
    window.addEventListener("resize", function () { if (plot) { plot.setSize(size()); } });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
  }

  sorts();
  filters();
  viewer();
}());
