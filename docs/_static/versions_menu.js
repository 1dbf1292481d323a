// Fills the menus of versions (in the head of a page, and in its menu on a phone) from versions.js.
// A version that has no such page is opened at its first one.
document.addEventListener("DOMContentLoaded", () => {
  const known = window.ROVER_HIL_VERSIONS;
  if (!known) return;
  document.querySelectorAll(".versions select").forEach((menu) => {
    const { root, page } = menu.dataset;
    menu.replaceChildren(
      ...known.versions.map(({ name, path, pages }) => {
        const there = path === "." || pages.includes(page);
        const option = new Option(name, `${root}${path}/${there ? page : "index.html"}`);
        option.selected = path === ".";
        return option;
      }),
    );
    menu.addEventListener("change", () => window.location.assign(menu.value));
  });
});
