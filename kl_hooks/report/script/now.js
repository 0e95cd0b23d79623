// The first view is in the page already; the script adds the button that copies the command.

function startNow() {
  const button = document.getElementById("copy");
  const command = document.getElementById("command");
  if (!button || !command) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const status = document.getElementById("copied");
    try {
      await navigator.clipboard.writeText(command.textContent);
      status.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      status.textContent = "Selected: copy it with the keyboard";
    }
  });
}
