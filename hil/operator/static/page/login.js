// Gives the token behind the # of the address that `hil operate` prints for a session, at once: it is worth nothing then.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
const field = document.getElementById("token");
if (given) history.replaceState(null, "", location.pathname);
if (given && field) {
  field.value = given;
  field.form.submit(); // the name follows
}
