package ironic

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node takes a row and returns what the throttle keeps of it; false for a row that
// cannot be told from others. A value of a type that we do not expect spoils that field
// and no other.
func (in *reader) node() (Node, bool, error) {
	var n Node
	err := in.object(func(name []byte) (err error) {
		switch string(name) {
		case "uuid":
			n.UUID, err = in.uuid()
		case "name":
			err = in.str(&n.Name, maxTextLen)
		case "provision_state":
			err = in.word((*string)(&n.State))
		case "target_provision_state":
			err = in.word((*string)(&n.TargetState))
		case "provision_updated_at":
			err = in.str(&n.ProvisionUpdatedAt, maxTextLen)
		case "driver_internal_info":
			n.AgentURL, n.AgentHeartbeat, err = in.agent()
		case "reservation":
			n.Locked, err = in.some()
		case "conductor_group":
			err = in.word(&n.ConductorGroup)
		case "boot_interface":
			err = in.word(&n.BootInterface)
		case "maintenance":
			n.Maintenance, err = in.truth()
		case "fault":
			err = in.word(&n.Fault)
		case "last_error":
			err = in.str(&n.LastError, maxErrorLen)
		case "instance_uuid":
			err = in.str(&n.InstanceUUID, maxTextLen)
		case "instance_info":
			n.Image, err = in.image()
		default:
			err = in.skip()
		}
		return err
	})
	if err != nil || n.UUID == "" {
		return Node{}, false, err
	}
	return n, true, nil
}

// uuid takes the text that tells a node from others, "" when it cannot.
func (in *reader) uuid() (string, error) {
	text, err := in.text(maxKeyLen + 1)
	if len(text) > maxKeyLen || len(bytes.TrimSpace(text)) == 0 {
		return "", err
	}
	return string(text), err
}

// agent takes driver_internal_info.
func (in *reader) agent() (url bool, heartbeat string, err error) {
	err = in.object(func(name []byte) error {
		switch string(name) {
		case "agent_url":
			text, err := in.text(maxTextLen)
			url = len(bytes.TrimSpace(text)) > 0
			return err
		case "agent_last_heartbeat":
			return in.str(&heartbeat, maxTextLen)
		}
		return in.skip()
	})
	return url, heartbeat, err
}

// image takes instance_info and names the image that a node gets by what tells it best
// from others: its hash, its checksum, or else where it comes from, which may be a URL
// with a password.
func (in *reader) image() (string, error) {
	var hash, checksum, source string
	err := in.object(func(name []byte) error {
		switch string(name) {
		case "image_os_hash_value":
			return in.str(&hash, maxTextLen)
		case "image_checksum":
			return in.str(&checksum, maxTextLen)
		case "image_source":
			return in.str(&source, maxTextLen)
		}
		return in.skip()
	})
	return withoutSecrets(cmp.Or(hash, checksum, source)), err
}

// withoutSecrets takes user, password and query out of what resembles a URL; other
// texts stay.
func withoutSecrets(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return text
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	host, path, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix(scheme+"://"+host[strings.LastIndexByte(host, '@')+1:]+"/"+path, "/")
}

// textOf returns a JSON string, cut to at most limit bytes; "" for anything else.
func textOf(raw []byte, limit int) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(cut(text, limit))
}
