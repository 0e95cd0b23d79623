function showKnowledge(container) {
  container.append(heading("Knowledge"));
}
