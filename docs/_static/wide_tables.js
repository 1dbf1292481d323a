// A table that is wider than the page scrolls by itself, with the keyboard too; the page does not.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("article table.table, article table.docutils").forEach((table) => {
    if (table.closest(".pst-scrollable-table-container")) return;
    const frame = document.createElement("div");
    frame.className = "pst-scrollable-table-container";
    table.replaceWith(frame);
    frame.append(table);
  });
});
