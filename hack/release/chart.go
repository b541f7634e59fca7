package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/hack/release/chart"
)

// chartVersion is the version as Helm wants it, without a v; a commit without a tag is before all others.
func chartVersion(version string) string {
	if bare, ok := strings.CutPrefix(version, "v"); ok && bare != "" && bare[0] >= '0' && bare[0] <= '9' {
		return bare
	}
	return "0.0.0-g" + version // a hash may be digits with a zero in front, which is no version
}

// chart packs the Helm chart: what is in deploy/chart, and the templates.
func (r *release) chart(ctx context.Context) error {
	files, err := r.chartFiles(ctx)
	if err != nil {
		return err
	}
	packed, err := tarGz(files, r.date)
	if err != nil {
		return err
	}
	return r.write("ironic-throttle-"+chartVersion(r.version)+".tgz", packed)
}

func (r *release) chartFiles(ctx context.Context) ([]file, error) {
	var files []file
	dir := filepath.Join(r.root, "deploy", "chart")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content := string(text)
		switch rel {
		case "Chart.yaml":
			content = strings.Replace(content, "\nversion: 0.0.0\n", "\nversion: "+chartVersion(r.version)+"\n", 1)
			content = strings.Replace(content, "\nappVersion: dev\n", "\nappVersion: "+strconv.Quote(r.version)+"\n", 1)
		case "values.yaml":
			content = strings.Replace(content, "\n  repository: ironic-throttle\n", "\n  repository: "+r.image+"\n", 1)
		}
		files = append(files, file{path: "ironic-throttle/" + filepath.ToSlash(rel), content: []byte(content)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	templates, err := chart.Generate(func(lines string) (string, error) { return r.kustomize(ctx, lines) })
	for name, text := range templates {
		files = append(files, file{path: "ironic-throttle/templates/" + name, content: []byte(text)})
	}
	return files, err
}
