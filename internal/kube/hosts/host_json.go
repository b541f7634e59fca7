package hosts

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"unique"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// maxText is what is kept of a text that somebody may write as long as he likes.
const maxText = 128

// readHost reads a BareMetalHost. Of one without a name, such as the object of a
// bookmark, Name is empty. version is its resourceVersion.
//
// What is absent or null is zero. So is a field of another type than it should have; fault
// then names the first such one. Only what is no JSON is an error.
func (p *parser) readHost(raw []byte) (h Host, version string, fault, err error) {
	var spec specParts
	var tried, good string
	p.start(raw)
	err = p.object("", func(name []byte) error {
		switch string(name) {
		case "metadata":
			version, err = p.hostMeta(&h)
			return err
		case "spec":
			return p.hostSpec(&spec)
		case "status":
			tried, good, err = p.hostStatus(&h)
			return err
		}
		return p.skip()
	})
	// BMO notes the version of the Secret that it tries before the one that it found good.
	spec.credentialsVersion = cmp.Or(tried, good)
	h.Spec, h.Bare = spec.hash(), spec.bare()
	return normalize(h), version, p.fault, err
}

// normalize bounds the counts and the UUID the way an ask has them.
func normalize(h Host) Host {
	a := api.Ask{NodeUUID: h.NodeUUID, ErrorCount: h.ErrorCount, ProvisioningFailCount: h.ProvisioningFailCount}.Normalize()
	h.ErrorCount, h.ProvisioningFailCount, h.NodeUUID = a.ErrorCount, a.ProvisioningFailCount, a.NodeUUID
	if _, ok := parseUUID(h.NodeUUID); !ok {
		h.NodeUUID = ""
	}
	return h
}

func (p *parser) hostMeta(h *Host) (version string, err error) {
	err = p.object("metadata", func(name []byte) (err error) {
		switch string(name) {
		case "namespace":
			h.Namespace, err = p.word("metadata.namespace")
		case "name":
			h.Name, err = p.text("metadata.name")
		case "uid":
			h.UID, err = p.text("metadata.uid")
		case "resourceVersion":
			version, err = p.text("metadata.resourceVersion")
		case "deletionTimestamp":
			h.Deleting, err = p.there()
		case "annotations":
			err = p.hostAnnotations(h)
		default:
			err = p.skip()
		}
		return err
	})
	return version, err
}

func (p *parser) hostAnnotations(h *Host) error {
	return p.object("metadata.annotations", func(name []byte) (err error) {
		switch string(name) {
		case HoldoffAnnotation:
			h.Holdoff, err = p.text(HoldoffAnnotation)
			h.Holdoff = short(h.Holdoff)
		case ReleaseAnnotation:
			h.Release, err = p.text(ReleaseAnnotation)
			h.Release = short(h.Release)
		case pausedAnnotation:
			h.Paused, err = true, p.skip()
		case detachedAnnotation:
			h.Detached, err = true, p.skip()
		default:
			err = p.skip()
		}
		return err
	})
}

func (p *parser) hostSpec(s *specParts) error {
	return p.object("spec", func(name []byte) (err error) {
		switch string(name) {
		case "image":
			s.image, err = p.deployable("url")
		case "customDeploy":
			s.custom, err = p.deployable("method")
		case "raid":
			s.raid, err = p.canonical()
		case "firmware":
			s.firmware, err = p.canonical()
		case "bmc":
			err = p.object("spec.bmc", func(name []byte) (err error) {
				switch string(name) {
				case "address":
					s.bmcAddress, err = p.text("spec.bmc.address")
				case "credentialsName":
					s.credentialsName, err = p.text("spec.bmc.credentialsName")
				default:
					err = p.skip()
				}
				return err
			})
		default:
			err = p.skip()
		}
		return err
	})
}

// deployable is canonical for what says what to deploy, and nothing for an object whose
// key says nothing: to BMO that is none.
func (p *parser) deployable(key string) ([]byte, error) {
	value, err := p.canonical()
	if err != nil || len(value) == 0 || value[0] != '{' {
		return value, err
	}
	said := false
	dec := jsontext.NewDecoder(bytes.NewReader(value), lenient...)
	err = eachField(dec, func(name []byte) error {
		is := string(name) == key
		text, err := dec.ReadValue()
		if is {
			said = text.Kind() != 'n' && string(text) != `""`
		}
		return err
	})
	if err != nil || !said {
		return nil, err
	}
	return value, nil
}

func (p *parser) hostStatus(h *Host) (tried, good string, err error) {
	err = p.object("status", func(name []byte) (err error) {
		switch string(name) {
		case "errorCount":
			h.ErrorCount, err = p.number("status.errorCount")
		case "provisioningFailCount":
			h.ProvisioningFailCount, err = p.number("status.provisioningFailCount")
		case "errorType":
			h.ErrorType, err = p.word("status.errorType")
		case "provisioning":
			err = p.hostProvisioning(h)
		case "triedCredentials":
			tried, err = p.credentials("status.triedCredentials")
		case "goodCredentials":
			good, err = p.credentials("status.goodCredentials")
		default:
			err = p.skip()
		}
		return err
	})
	return tried, good, err
}

func (p *parser) hostProvisioning(h *Host) error {
	return p.object("status.provisioning", func(name []byte) (err error) {
		switch string(name) {
		case "ID":
			h.NodeUUID, err = p.text("status.provisioning.ID")
		case "state":
			var state string
			state, err = p.word("status.provisioning.state")
			h.State = api.BMHState(state)
		default:
			err = p.skip()
		}
		return err
	})
}

// credentials returns the version of a Secret that BMO has noted.
func (p *parser) credentials(field string) (version string, err error) {
	err = p.object(field, func(name []byte) (err error) {
		if string(name) != "credentialsVersion" {
			return p.skip()
		}
		version, err = p.text(field + ".credentialsVersion")
		return err
	})
	return version, err
}

// word reads a text that many hosts share: it is in memory once.
func (p *parser) word(field string) (string, error) {
	s, err := p.text(field)
	return unique.Make(short(s)).Value(), err
}

// short cuts a text that is too long to be meant. What stays is no sound value either:
// it ends with an ellipsis.
func short(s string) string { return shorten(s, maxText) }

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…" // a character may be cut in two
}

// number reads a number in any of its forms, cut to what an int32 holds (LH-28).
func (p *parser) number(field string) (int, error) {
	if kind := p.dec.PeekKind(); kind != '0' {
		return 0, p.wrong(field, "a number")
	}
	token, err := p.dec.ReadToken()
	if err != nil {
		return 0, err
	}
	f, _ := token.Float() // out of range it is infinite, which is cut too
	return int(min(max(f, math.MinInt32), math.MaxInt32)), nil
}

// pack puts the texts of a host that no other shares into one, so that it takes one piece
// of memory and holds on to nothing else.
func pack(h Host) Host {
	all := strings.Join([]string{h.Name, h.UID, h.NodeUUID, h.Spec, h.Holdoff, h.Release}, "")
	for _, text := range []*string{&h.Name, &h.UID, &h.NodeUUID, &h.Spec, &h.Holdoff, &h.Release} {
		n := len(*text)
		*text, all = all[:n], all[n:]
	}
	return h
}

// fieldFault is the fault of a field that has not its type.
func fieldFault(field, must string, is fmt.Stringer) error {
	return fmt.Errorf("%s: must be %s, not %v", cmp.Or(field, "object"), must, is)
}
