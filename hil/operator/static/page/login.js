// Takes the token behind the # of the address that `hil operate` prints. A browser does not send that part.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname); // not in the browser's history
  document.getElementById("token").value = given;
  document.querySelector("form").requestSubmit();
}
