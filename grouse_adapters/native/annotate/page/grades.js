// Grades of the judged metrics, where they are asked for.

function renderGrades() {
  byId("grades").hidden = !desk.grades.length;
  byId("grades-list").replaceChildren(...desk.grades.map(gradeField));
}

function gradeField(metric) {
  const field = make("fieldset", { class: "grade-field" }, make("legend", null, metric.title));
  const choices = [...metric.grades.map(({ value, means }) => [value, String(value), means]), [null, "null", metric.not_applicable]];
  for (const [value, word, means] of choices) {
    const id = `grade-${metric.name}-${word}`;
    const input = make("input", { type: "radio", name: `grade-${metric.name}`, id, value: word });
    input.checked = metric.name in desk.draft.grades && desk.draft.grades[metric.name] === value;
    input.addEventListener("change", () => {
      const copy = structuredClone(desk.draft);
      copy.grades[metric.name] = value;
      desk.change(copy);
    });
    field.append(make("div", { class: "choice" }, input,
      make("label", { for: id }, make("span", { class: "choice-value" }, word), make("span", null, means))));
  }
  return field;
}
