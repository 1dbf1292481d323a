// Fills the menus of versions from versions.js. A version that has no such page is opened at its first one.
(() => {
  const known = window.ROVER_HIL_VERSIONS;
  if (!known) return;
  document.querySelectorAll("select#versions").forEach((menu) => {
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
})();
