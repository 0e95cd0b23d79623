function showMap(container) {
  container.append(heading("Map"));
}
