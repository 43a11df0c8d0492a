// Runs before the first paint, so that a chosen theme never flashes; theme.js does the rest.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage may be forbidden: use the system's theme
}
