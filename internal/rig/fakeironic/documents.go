package fakeironic

import (
	"fmt"
	"net/http"
	"strings"
)

func (c *call) versionObject() string {
	return fmt.Sprintf(`{"id": "v1", "links": [{"href": "%s/v1/", "rel": "self"}], "status": "CURRENT", "min_version": "1.1", "version": "1.%d"}`,
		c.base(), c.w.opt.API.MaxMinor)
}

func (c *call) rootDocument() []byte {
	v := c.versionObject()
	return []byte(`{"name": "OpenStack Ironic API", "description": "Ironic is an OpenStack project which enables the provision ` +
		`and management of baremetal machines.", "default_version": ` + v + `, "versions": [` + v + `]}`)
}

func (c *call) versionDocument() []byte {
	b := []byte(`{"id": "v1", "links": [{"href": "` + c.base() + `/v1/", "rel": "self"}, ` +
		`{"href": "https://docs.openstack.org//ironic/latest/contributor//webapi.html", "rel": "describedby", "type": "text/html"}], ` +
		`"media_types": {"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"}`)
	v := &view{w: c.w, host: c.base()}
	for _, name := range []string{"chassis", "nodes", "ports", "drivers"} {
		b = append(b, `, "`+name+`": `...)
		b = v.links(b, name+"/")
	}
	b = append(b, `, "version": `...)
	return append(append(b, c.versionObject()...), '}')
}

var drivers = []string{"fake-hardware", "ipmi", "redfish"}

// drivers shows a driver only while a conductor lives that serves it.
func (c *call) drivers(p []string) (int, []byte, *fault) {
	if c.r.Method != http.MethodGet || len(p) > 1 {
		return 0, nil, routeFault(404, "")
	}
	var hosts []string
	for i, d := range c.w.down {
		if d.until == 0 || d.killed {
			hosts = append(hosts, string(appendString(nil, c.w.registered(i))))
		}
	}
	v := &view{w: c.w, host: c.base()}
	b := []byte(`{"drivers": [`)
	for i, name := range drivers {
		if len(hosts) == 0 {
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		one := []byte(`{"name": "` + name + `", "hosts": [` + strings.Join(hosts, ", ") + `], "links": `)
		one = v.links(one, "drivers/"+name)
		one = append(one, `, "properties": `...)
		one = v.links(one, "drivers/"+name+"/properties")
		one = append(one, `, "type": "dynamic"}`...)
		if len(p) == 1 && p[0] == name {
			return 200, one, nil
		}
		b = append(b, one...)
	}
	if len(p) == 1 {
		return 0, nil, clientFault(404, "Could not find the following driver(s) or hardware type(s): %s.", p[0])
	}
	return 200, append(b, "]}"...), nil
}

// validateNode is the RPC that BMO makes before it deploys.
func (c *call) validateNode(ident string) (int, []byte, *fault) {
	n, f := c.lookup(ident)
	if f != nil {
		return 0, nil, f
	}
	if f := c.w.reach(n); f != nil {
		return 0, nil, f
	}
	return 200, []byte(`{"boot": {"result": true}, "deploy": {"result": true}, "power": {"result": true}}`), nil
}
