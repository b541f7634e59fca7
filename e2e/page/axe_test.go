package page

import (
	"os"
	"path/filepath"
)

// tooWide are elements that reach beyond the window and cannot be scrolled to.
const tooWide = `(() => {
	const scrolls = (e) => { while (e && !e.matches(".scroll")) e = e.parentElement; return e; };
	return [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !scrolls(e))
		.map((e) => "too wide: " + e.outerHTML.slice(0, 80));
})()`

// accessible checks the page as it looks now: its width, and whatever axe-core finds, contrast among it.
func (b *tab) accessible(look string) {
	b.Helper()
	for _, fault := range value[[]string](b, tooWide) {
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
