//go:build e2e

package e2e

import "strings"

// listSteps page through, sort and filter the nodes of this side.
var listSteps = []step{
	do("GET /v1/nodes?resource_class=r@"), do("GET /v1/nodes/?resource_class=r@&detail=true"), do("GET /v1/nodes/detail?resource_class=r@"), do("GET /nodes?resource_class=r@&fields=uuid,name,provision_state,boot_interface"),
	do("GET /v1/nodes?resource_class=r@&limit=2&fields=uuid"), do("GET /v1/nodes?resource_class=r@&limit=1&sort_key=name&sort_dir=desc"), do("GET /v1/nodes?resource_class=r@&marker=" + node1 + "&fields=uuid"),
	do("GET /v1/nodes?resource_class=r@&marker=" + nobody0), do("GET /v1/nodes?resource_class=r@&marker=x"), do("GET /v1/nodes?resource_class=r@&limit=0"), do("GET /v1/nodes?resource_class=r@&limit=x"), do("GET /v1/nodes?resource_class=r@&limit=5000"),
	do("GET /v1/nodes?resource_class=r@&sort_key=nope"), do("GET /v1/nodes?resource_class=r@&sort_dir=up"), do("GET /v1/nodes?resource_class=r@&sort_key=provision_updated_at&sort_dir=desc&fields=uuid"),
	do("GET /v1/nodes?resource_class=r@&provision_state=available&fields=uuid"), do("GET /v1/nodes?resource_class=r@&provision_state=adopt+failed"), do("GET /v1/nodes?resource_class=r@&provision_state=adopt%20failed"), do("GET /v1/nodes?provision_state=flying"),
	do("GET /v1/nodes?provision_state=a,b"), do("GET /v1/nodes?provision_state=active&provision_state=available"), do("GET /v1/nodes?resource_class=r@&maintenance=true"), do("GET /v1/nodes?resource_class=r@&associated=true&fields=uuid"),
	do("GET /v1/nodes?instance_uuid=" + node1), do("GET /v1/nodes?driver=fake-hardware&resource_class=r@&fields=uuid"), do("GET /v1/nodes?resource_class=r@&chassis_uuid=" + chassis + "&fields=uuid"),
	do("GET /v1/nodes?resource_class=r@&fields=uuid&fields=name"), do("GET /v1/nodes?resource_class=r@&detail=true&fields=uuid"), do("GET /v1/nodes?resource_class=r@&nope=1"), do("GET /v1/nodes?resource_class=r@&"), do("GET /v1/nodes?&&resource_class=r@"), do("GET /v1/nodes?resource_class=r@;x=1"),
	do("GET /v1/nodes?%72esource_class=r@&fields=uuid"), do("GET /v1/nodes?resource_class=r@&x=%zz"), do("GET /v1/nodes?resource_class=r@&description_contains=%C3%A9"), do("GET /v1/nodes?resource_class=r@&fields=uuid#x"), do("GET /v1/nodes?resource_class=r@&fields=uuid+,name"),
	do("GET /v1/nodes?resource_class=r@", at("1.1")), do("GET /v1/nodes?resource_class=r@", at("1.50")), do("GET /v1/nodes?resource_class=r@&fields=uuid", at("1.7")), do("GET /v1/nodes?resource_class=r@", at("latest")),
	do("GET /v1/nodes?resource_class=r@&limit=1", with("Host: gw.localhost:1234", "X-Forwarded-Host: other.example", "X-Forwarded-Proto: https", "X-Forwarded-For: 10.0.0.1", "Forwarded: host=other.example")),
	do("GET /v1/nodes?resource_class=r@&limit=1", with("Host: GW.localhost")), do("GET /v1/nodes?resource_class=r@&limit=1", with("Host: [::1]:6385")),
}

// protocolSteps are about HTTP and versions more than about nodes.
var protocolSteps = []step{
	do("GET /"), do("GET /", at("none")), do("GET /", at("1.200")), do("GET /v1"), do("GET /v1/"), do("GET /v1", at("none")), do("GET /v1", at("1.200")), do("GET /v1", at("latest")), do("GET /v1.json"),
	do("GET /v1/drivers", at("1.200")), do("GET /v1/drivers", at("1.0")), do("GET /v1/drivers", at("2.1")), do("GET /v1/drivers", at("foo")), do("GET /v1/drivers", at("1")), do("GET /v1/drivers", at("LATEST")), do("GET /v1/drivers", at(" 1.61 ")), do("GET /v1/drivers", at("")),
	do("GET /v1/drivers", at("none"), with("OpenStack-API-Version: baremetal 1.61")), do("GET /v1/drivers", at("none"), with("OpenStack-API-Version: compute 2.1")), do("GET /v1/drivers", with("X-OpenStack-Ironic-API-Version: 1.61")), do("GET /v1/drivers", at("none"), with("x-openstack-ironic-api-version: 1.61")),
	do("GET /nope"), do("GET /v1/nope"), do("GET /v2"), do("GET //v1/drivers"), do("GET /v1//drivers"), do("GET /v1/drivers//"), do("GET /v1/./drivers"), do("GET /v1/x/../drivers"), do("GET /v1/%64rivers"), do("GET /v1%2Fdrivers"), do("GET /v1/drivers%3Fx"), do("GET /v1/drivers;x"), do("GET /v1/driv\xc3\xa9rs"), do("GET /v1/drivers?"), do("GET /v1/drivers?x=y"),
	do("HEAD /"), do("HEAD /v1"), do("HEAD /v1/nodes"), do("HEAD" + one), do("HEAD /v1/nope"), do("OPTIONS /v1/nodes"), do("OPTIONS" + one), do("OPTIONS *"),
	do("OPTIONS /v1/nodes", with("Origin: http://example.org", "Access-Control-Request-Method: GET")), do("GET /v1", with("Origin: http://example.org")),
	do("get /v1"), do("Get" + one), do("FOO /v1/nodes"), do("TRACE /v1"), do("PUT /v1/nodes", sending("{}")), do("DELETE /v1/nodes"), do("PATCH /v1/nodes", sending("[]")), do("DELETE /v1"), do("POST /v1/drivers"), do("PROPFIND /v1/nodes"),
	do("GET /v1/nope", with("Accept: text/html")), do("GET /v1", with("Accept: text/html")), do("GET /v1/nope", with("Accept: */*")), do("GET /v1", with("Accept: application/xml")), do("GET /v1/nope", with("Accept: application/json;q=0.1, text/plain")), do("GET /v1", with("Accept-Encoding: gzip, br")),
	do("GET /v1", with("If-None-Match: *", "If-Modified-Since: Sat, 21 Nov 2026 00:00:00 GMT")), do("GET /v1", with("Range: bytes=0-9")), do("GET /v1", with("Cookie: a=b", "Cookie: c=d")), do("GET /v1", with("User-Agent:")), do("GET /v1", with("X-A: 1", "X-A: 2", "x-a: 3")), do("GET /v1", with("X-Openstack-Request-Id: req-11111111-1111-4111-8111-111111111111")),
	do("GET /v1", with("Connection: close")), do("GET /v1", with("Connection: keep-alive")), do("GET /v1", with("Keep-Alive: timeout=5", "TE: trailers", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk")), do("GET /v1", with("Proxy-Connection: keep-alive", "Proxy-Authorization: Basic eDp5")),
	do("GET /v1", with("Authorization: Basic eDp5")), do("GET /v1", with("X-Auth-Token: nope")), do("GET /v1", with("X-Roles: admin", "X-Project-Id: x")), do("GET /v1", with("X-A: "+strings.Repeat("a", 8000))),
	do("GET /v1/drivers", sending("{}")), do("DELETE /v1/ports/"+nobody0, sending(`{"x":1}`)), do("GET /v1/drivers", inChunks("{}")), do("GET /v1/drivers", sending(strings.Repeat("x", 1<<20))), do("GET /v1/drivers", sending("{}"), with("Expect: 100-continue")),
}

// endSteps remove what createSteps have made.
var endSteps = []step{
	do("DELETE /v1/nodes/metal3~@-1"), do("PATCH"+one, sending(`[{"op":"remove","path":"/instance_uuid"}]`)), do("DELETE /v1/nodes/metal3~@-1"), do("DELETE" + one), do("GET" + one),
	do("DELETE" + two), do("DELETE /v1/chassis/" + chassis), do("DELETE /v1/chassis/" + chassis),
}
