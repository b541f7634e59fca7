package archtest

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/ironic-throttle/ironic-throttle/"

// layers are the packages of the product, from below: each imports those of lower layers alone.
var layers = []string{
	"pkg/api pkg/breaker pkg/snapshot internal/logging internal/nearest internal/plainfile internal/secret internal/kube/objects",
	"pkg/ironic pkg/holdoff pkg/sizing pkg/disruption/budget internal/cli internal/httpserve internal/page internal/statusview " +
		"internal/kube/capi plugin/asker",
	"pkg/slots pkg/disruption internal/gateway/classify internal/store",
	"pkg/fairshare internal/config internal/planner internal/kube internal/kube/fleet internal/kube/lead",
	"pkg/admission",
	"internal/inventory internal/decisionlog internal/server internal/kube/hosts",
	"internal/gateway internal/kube/tell",
	"internal/metrics internal/clusterhosts internal/kube/execute",
	"internal/app",
	"cmd/ironic-throttle",
}

// bans are imports, "importer imported", that the layers would allow, and those excepted. make lint has those of other
// people's modules (depguard).
var bans = []struct{ ban, except string }{
	{`^pkg/\S+ internal/`, ` internal/(nearest|plainfile|secret)$`}, // others import pkg
	{` internal/config$`, `^(cmd/ironic-throttle|internal/(app|clusterhosts)) `},
	{` internal/kube`, `^internal/(app |clusterhosts |kube)`},
	{`^internal/(gateway|server|metrics|page) pkg/(slots|fairshare|breaker|holdoff|sizing)$`, `^$`}, // they ask pkg/admission
	{`^cmd/`, ` (pkg/(api|disruption)|internal/(app|cli|config|statusview))$`},
}

// layerOf is the place of a package among the layers; none has one that is not the product.
func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l string) bool { return slices.Contains(strings.Fields(l), pkg) })
}

// refusal says why pkg may not import another package of the house; empty where it may.
func refusal(pkg, imported string) string {
	if layerOf(pkg) < 0 {
		return "" // the rig imports what it likes
	}
	if layerOf(imported) < 0 {
		return "is no part of the product"
	}
	if layerOf(imported) >= layerOf(pkg) {
		return "is not in a lower layer"
	}
	for _, b := range bans {
		both := pkg + " " + imported
		if regexp.MustCompile(b.ban).MatchString(both) && !regexp.MustCompile(b.except).MatchString(both) {
			return "is not for it: see bans"
		}
	}
	return ""
}

func TestImportsRunOneWay(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen, there := 0, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		all := strings.Fields(line)
		pkg := strings.TrimPrefix(all[0], module)
		there[pkg] = true
		if layerOf(pkg) < 0 && !regexp.MustCompile(`^(hack|e2e|internal/rig|cmd/ironic-throttle-lab)`).MatchString(pkg) {
			t.Errorf("%s is in no layer of this test", pkg)
		}
		for _, imported := range all[1:] {
			if name, ours := strings.CutPrefix(imported, module); ours {
				if seen++; refusal(pkg, name) != "" {
					t.Errorf("%s imports %s, which %s", pkg, name, refusal(pkg, name))
				}
			}
		}
	}
	for pkg := range strings.FieldsSeq(strings.Join(layers, " ")) {
		if !there[pkg] && pkg != "pkg/api" { // which is a module of its own
			t.Errorf("%s is in a layer, and is not there", pkg)
		}
	}
	if seen < 150 {
		t.Errorf("found %d imports: the search is broken", seen)
	}
}

func TestRefusal(t *testing.T) {
	for imports, want := range map[string]bool{
		"pkg/slots pkg/admission": true, "pkg/slots pkg/ironic": false, "pkg/slots internal/logging": true, "pkg/admission internal/nearest": false,
		"internal/server internal/rig/fakeironic": true, "internal/rig/demo internal/app": false, "internal/gateway internal/server": false,
		"internal/server internal/gateway": true, "internal/server internal/config": true, "internal/app internal/config": false,
		"internal/gateway pkg/slots": true, "internal/gateway internal/kube": true, "cmd/ironic-throttle pkg/slots": true,
	} {
		pkg, imported, _ := strings.Cut(imports, " ")
		if got := refusal(pkg, imported); (got != "") != want {
			t.Errorf("%s: %q, refused: %t", imports, got, want)
		}
	}
}

// TestTheClientIsAModuleOfItsOwn builds pkg/api and runs its tests as somebody else's module has
// it, without ours: it requires nothing, so that no controller gets another version of anything.
// go test ./... leaves the module out, and has it by this.
func TestTheClientIsAModuleOfItsOwn(t *testing.T) {
	dir := filepath.Join(root, "pkg", "api")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s in pkg/api: %v\n%s", args[0], err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
		t.Error("pkg/api has a go.sum: it requires another module")
	}
}

const (
	root     = "../../.."
	maxLines = 400 // of a Go file (aim at 300)
)

// tree has the files of this repository that people write, by path, read once.
var tree = sync.OnceValues(func() (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "build", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		if kind := filepath.Ext(path); d.Type().IsRegular() && (kind == "" || slices.Contains(kinds, kind)) {
			text, err := os.ReadFile(filepath.Join(root, path))
			files[path] = string(text)
			return err
		}
		return nil
	})
	return files, err
})

var kinds = []string{".go", ".md", ".sh", ".yml", ".yaml", ".mod", ".txtar", ".json", ".svg", ".play"}

// texts are the files of the tree whose path matches.
func texts(t *testing.T, pattern string) map[string]string {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	found, match := map[string]string{}, regexp.MustCompile(pattern)
	for path, text := range all {
		if match.MatchString(path) {
			found[path] = text
		}
	}
	if len(found) == 0 {
		t.Fatalf("no file matches %s: the search is broken", pattern)
	}
	return found
}

// text is that of one file.
func text(t *testing.T, path string) string {
	t.Helper()
	return texts(t, "^"+regexp.QuoteMeta(path)+"$")[path]
}

func TestFilesAreShortAndTestsDoNotSleep(t *testing.T) {
	for path, text := range texts(t, `\.go$`) {
		if n := strings.Count(text, "\n"); n > maxLines && !strings.HasPrefix(text, "// Code generated ") {
			t.Errorf("%s: %d lines, at most %d: when a file wants a second subject, it is two files", path, n, maxLines)
		}
		if strings.HasSuffix(path, "_test.go") && regexp.MustCompile(`[^"]time\.`+`Sleep\(`).MatchString(text) {
			t.Errorf("%s sleeps: use testing/synctest or wait for the event itself", path)
		}
	}
}

// TestNoMachinePaths: a path below somebody's home or work folder is there on one machine only.
func TestNoMachinePaths(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	homes := regexp.MustCompile(`(?m)(?:^|[\s"'` + "`" + `=(:,])(/(?:root|home|Users|work)/[\w.-]+|` + regexp.QuoteMeta(here) + `/)`)
	for path, text := range texts(t, `.`) {
		if m := homes.FindString(text); m != "" {
			t.Errorf("%s: %s is a path of one machine", path, m)
		}
	}
}

// literals calls visit with the strings in the code of the product, and the name that is added in front, if one is.
func literals(t *testing.T, visit func(at, text, before string)) {
	t.Helper()
	for path, text := range texts(t, `^(cmd/ironic-throttle|internal|pkg|plugin)/.*\.go$`) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/rig/") {
			continue
		}
		var s scanner.Scanner
		file := token.NewFileSet().AddFile(path, -1, len(text))
		s.Init(file, []byte(text), nil, 0)
		name, before := "", ""
		for {
			pos, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.STRING {
				visit(file.Position(pos).String(), lit, before)
			}
			if before = ""; tok == token.ADD {
				before = name
			}
			name = lit
		}
	}
}
