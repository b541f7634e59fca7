package fakeironic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Defect is something wrong with a part of the site. It befalls all hosts of that
// part for as long as it lasts.
type Defect struct {
	Kind DefectKind
	// Part is the image's checksum or the conductor group; "" is every host.
	Part string
}

// DefectKind is what is wrong.
type DefectKind string

// The kinds of defects.
const (
	// DefectImage: deployments fail when the image has been written and does not
	// match. Inspection and cleaning go well.
	DefectImage DefectKind = "image"
	// DefectRack: no boot of a conductor group's hosts comes up, so that all their
	// work fails when Ironic has waited long enough.
	DefectRack DefectKind = "rack"
)

// SetDefects says what is wrong from now on, in place of all that was before. A boot
// that was lost stays lost when its defect ends.
func (w *World) SetDefects(now time.Time, defects ...Defect) error {
	w.Advance(now)
	for _, d := range defects {
		if d.Kind != DefectImage && d.Kind != DefectRack {
			return fmt.Errorf("defect %q: want image or rack", d.Kind)
		}
	}
	w.defects = slices.Clone(defects)
	for _, n := range w.nodes {
		if n.booting && w.defective(n, DefectRack) {
			w.boots.leave(n, w.now)
		}
	}
	return nil
}

func (w *World) defective(n *node, kind DefectKind) bool {
	part := n.attrs.checksum
	if kind == DefectRack {
		part = n.attrs.group
	}
	return slices.ContainsFunc(w.defects, func(d Defect) bool {
		return d.Kind == kind && (d.Part == "" || strings.EqualFold(d.Part, part))
	})
}

// spoilt reports whether the present step of n writes an image that is bad.
func (w *World) spoilt(n *node) bool {
	job := n.work
	if job.verb != verbDeploy && job.verb != verbRebuild || n.state != ironic.Deploying || job.at != len(job.steps)-2 {
		return false
	}
	return w.defective(n, DefectImage)
}

// withImage returns a copy of a with the checksum in instance_info.
func (a *attrs) withImage(checksum string) *attrs {
	next := *a
	next.rest = maps.Clone(a.rest)
	next.rest["instance_info"] = append(appendString([]byte(`{"image_checksum": `), checksum), '}')
	return &next
}

// checksumOf reads instance_info.image_checksum; "" when there is none.
func checksumOf(rest map[string]json.RawMessage) string {
	var info struct {
		Checksum string `json:"image_checksum"`
	}
	if raw, ok := rest["instance_info"]; !ok || json.Unmarshal(raw, &info) != nil {
		return ""
	}
	return info.Checksum
}

func imageText(n *node) string {
	return "Failed to deploy. Deploy step deploy.write_image on node " + n.uuid + " failed: Error verifying image checksum."
}
