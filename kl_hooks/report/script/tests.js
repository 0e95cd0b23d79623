function showTests(container) {
  container.append(heading("Tests"));
}
