package main

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// chartVersion is the version as Helm wants it, without a v; a commit without a tag is before all others.
func chartVersion(version string) string {
	if bare, ok := strings.CutPrefix(version, "v"); ok && bare != "" && bare[0] >= '0' && bare[0] <= '9' {
		return bare
	}
	return "0.0.0-g" + version // a hash may be digits with a zero in front, which is no version
}

// chart packs the Helm chart, with the files of deploy/ to which it links. Helm's own Save would write the time of day
// into it.
func (r *release) chart() error {
	files, err := r.chartFiles()
	if err != nil {
		return err
	}
	packed, err := tarGz(files, r.date)
	return errors.Join(err, r.write("ironic-throttle-"+chartVersion(r.version)+".tgz", packed))
}

func (r *release) chartFiles() (files []file, err error) {
	loaded, err := loader.LoadDir(filepath.Join(r.root, "charts", "ironic-throttle"))
	if err != nil {
		return nil, err
	}
	for _, f := range loaded.Raw {
		content := string(f.Data)
		switch f.Name {
		case "Chart.yaml":
			content = strings.Replace(content, "\nversion: 0.0.0\n", "\nversion: "+chartVersion(r.version)+"\n", 1)
			content = strings.Replace(content, "\nappVersion: dev\n", "\nappVersion: "+strconv.Quote(r.version)+"\n", 1)
		case "values.yaml":
			content = strings.Replace(content, "\n  repository: ironic-throttle\n", "\n  repository: "+r.image+"\n", 1)
		}
		files = append(files, file{path: "ironic-throttle/" + f.Name, content: []byte(content)})
	}
	return files, nil
}
