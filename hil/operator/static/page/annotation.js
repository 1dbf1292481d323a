/** The note and tags of a run, to read and to edit. Every operator may write them: no device is told. */

import { make, runOf } from "./dom.js";

const textOf = (tags) => (tags ?? []).join(", ");

/** A form for the note and tags of a run; `changed` is called once they are written, and `run` then has them. */
export function annotationForm(run, changed) {
  const note = make("textarea", { id: "run-note", rows: 2, maxlength: 2000 });
  const tags = make("input", { id: "run-tags", type: "text", autocomplete: "off" });
  const said = make("p", { class: "note", role: "status" });
  note.value = run.note ?? "";
  tags.value = textOf(run.tags);
  const form = make("form", { class: "annotation", onsubmit: (event) => { event.preventDefault(); save(); } },
    make("label", { for: "run-note" }, "Note"), note,
    make("label", { for: "run-tags" }, "Tags, with commas between them"), tags,
    make("button", { type: "submit" }, "Save the note"), said);
  const save = async () => {
    const [wanted, before] = [tags.value.split(",").map((one) => one.trim()).filter(Boolean), run.tags ?? []];
    // only what was changed here: another operator, or a terminal, may have added a tag meanwhile
    const change = {
      note: note.value.trim() === (run.note ?? "") ? null : note.value,
      add: wanted.filter((one) => !before.includes(one)), remove: before.filter((one) => !wanted.includes(one)),
    };
    const answer = await fetch(`${runOf(run.name)}/annotation`, { method: "POST", body: JSON.stringify(change) }).catch(() => null);
    if (!answer?.ok) {
      said.className = "bad";
      said.textContent = `Not saved: ${answer ? await answer.text() : "there is no connection"}`;
      return;
    }
    Object.assign(run, await answer.json());
    [note.value, tags.value, said.className, said.textContent] = [run.note, textOf(run.tags), "note", "Saved."];
    changed();
  };
  return form;
}
