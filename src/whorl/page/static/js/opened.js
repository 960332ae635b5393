// Browsers load no modules and no kernel from a file: say so, in place of a page that does nothing.
if (location.protocol === "file:")
  addEventListener("DOMContentLoaded", () => {
    const box = document.getElementById("failure");
    box.innerHTML = "This page cannot run when it is opened as a file, because browsers then refuse to load its parts. "
      + "Run <code>whorl page</code>, or put the folder on a web server, for example with <code>python3 -m http.server</code>.";
    box.hidden = false;
  });
