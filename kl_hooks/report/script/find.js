function showFind(container) {
  container.append(heading("Find"));
}
