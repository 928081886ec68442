"use strict";
(function () {
  var page = document.documentElement;
  var known = { en: "ltr", ar: "rtl" };
  function show(language) {
    page.lang = language;
    page.dir = known[language];
    try { localStorage.setItem("language", language); } catch (refused) { /* Pages read from a disk may keep nothing. */ }
  }
  var kept = null;
  try { kept = localStorage.getItem("language"); } catch (refused) { /* See above. */ }
  var asked = location.hash.slice(1);
  var own = (navigator.language || "").slice(0, 2);
  show(known[asked] ? asked : known[kept] ? kept : known[own] ? own : "en");
  document.getElementById("language").addEventListener("click", function () {
    show(page.lang === "en" ? "ar" : "en");
  });
})();
