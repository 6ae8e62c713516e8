// Shows the figures of another limit. The library has computed every number and curve beforehand;
// this script only puts them in place.
(() => {
  "use strict";
  const settings = JSON.parse(document.getElementById("settings").textContent);
  const slider = document.getElementById("limit");
  const each = document.getElementById("each-class");
  const back = document.getElementById("back");
  const start = { value: slider.value, each: each ? each.checked : false };

  function show() {
    const mode = each && each.checked ? "each" : "all";
    const setting = settings[mode][Number(slider.value)];
    slider.setAttribute("aria-valuetext", setting.spoken);
    for (const place of document.querySelectorAll("data[data-live]")) {
      const [value, text] = setting.live[place.dataset.live];
      place.value = value ?? "";
      if (place.textContent !== text) place.textContent = text;
    }
    document.getElementById("said").textContent = setting.said;
    for (const [id, attributes] of Object.entries(setting.look)) {
      for (const [name, value] of Object.entries(attributes)) {
        document.getElementById(id).setAttribute(name, value);
      }
    }
    for (const row of document.querySelectorAll("tr[data-row]")) {
      row.classList.toggle("current", row.dataset.row === `${mode}-${slider.value}`);
    }
    back.disabled = slider.value === start.value && (each ? each.checked : false) === start.each;
  }

  slider.addEventListener("input", show);
  if (each) each.addEventListener("change", show);
  back.addEventListener("click", () => {
    slider.value = start.value;
    if (each) each.checked = start.each;
    show();
    slider.focus();
  });
  document.getElementById("tradeoff").addEventListener("click", (event) => {
    const point = event.target.getAttribute("data-point");
    if (point !== null) {
      slider.value = point;
      show();
    }
  });
  // Print unfolds all details, because paper cannot be clicked.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
  });
  document.documentElement.classList.add("live");
  show();
})();
