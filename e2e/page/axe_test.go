package page

import (
	"os"
	"path/filepath"
)

// structure is what assistive technology goes by, checked without axe too.
const structure = `(() => {
	const faults = [], all = (s) => [...document.querySelectorAll(s)];
	for (const [s, n] of [["header", 1], ["main", 1], ["footer", 1], ["h1", 1], ["html[lang]", 1], ["title", 1]])
		if (all(s).length !== n) faults.push(all(s).length + " of " + s);
	for (const e of all("section, meter")) {
		const id = e.getAttribute("aria-labelledby");
		if (!id || !document.getElementById(id)?.innerText) faults.push("no label: " + e.outerHTML.slice(0, 80));
	}
	for (const e of all("a, button"))
		if (!(e.ariaLabel || e.innerText).trim()) faults.push("no name: " + e.outerHTML.slice(0, 80));
	for (const e of all("table"))
		if (!e.caption?.innerText || !e.querySelector("th[scope=col]")) faults.push("table without caption or heads");
	const ids = all("[id]").map((e) => e.id);
	if (new Set(ids).size !== ids.length) faults.push("an id twice");
	const scrolls = (e) => { while (e && !e.matches(".scroll")) e = e.parentElement; return e; };
	for (const e of all("main *"))
		if (e.getBoundingClientRect().right > innerWidth && !scrolls(e)) faults.push("too wide: " + e.outerHTML.slice(0, 80));
	return faults;
})()`

// accessible checks the page as it looks now: landmarks, names, and whatever axe-core finds, contrast
// among it.
func (b *tab) accessible(look string) {
	b.Helper()
	for _, fault := range value[[]string](b, structure) {
		b.Errorf("%s: %s", look, fault)
	}
	files, _ := filepath.Glob(filepath.Join(bin, "axe-*", "axe.min.js"))
	if len(files) == 0 {
		b.Log("no axe-core, as make system could not get it: its checks are left out")
		return
	}
	axe, err := os.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	b.run(string(axe))
	faults := value[string](b, `axe.run().then((r) => {
		if (!r.passes.some((p) => p.id === "color-contrast")) return "it did not look at the contrast";
		return JSON.stringify(r.violations.map((v) => ({
			rule: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary),
		})));
	})`)
	if faults != "[]" {
		b.Errorf("%s: axe-core finds: %s", look, indented(faults))
	}
}
