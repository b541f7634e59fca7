//go:build linux

package attack

import (
	"fmt"
	"strings"
)

type shape struct{ name, text string }

// shapes are requests that would start the node, or the node of that name, if somebody on the
// way took them for what they may mean. More of them, on a real Ironic: e2e's spellings.
func shapes(uuid, name string) []shape {
	const version, active = "X-OpenStack-Ironic-API-Version: 1.61\r\n", `{"target":"active"}`
	path := "/v1/nodes/" + uuid + "/states/provision"
	hidden := "PUT " + path + " HTTP/1.1\r\nHost: $HOST\r\n" + version + "Content-Type: application/json\r\nContent-Length: 19\r\n\r\n" + active
	var all []shape
	add := func(name, text string) { all = append(all, shape{name, text}) }
	// What tells the end of a body twice, with a request hidden behind or in it.
	for _, first := range []string{"POST /v1/nodes", "GET /v1/nodes", "PATCH /v1/nodes/" + uuid, "PUT " + path, "POST /v1/isready"} {
		for _, head := range []string{
			"Content-Length: $N\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
			"Content-Length: $N\r\nContent-Length: 0", "Content-Length: 0\r\nContent-Length: $N", "Content-Length: $N, 0", "Content-Length: +$N", "Content-Length: 0x$N",
			"Content-Length: $N\r\nTransfer-Encoding: identity", "Content-Length: $N\r\nTransfer-Encoding: xchunked", "Content-Length: $N\r\nTransfer-Encoding: chunked, identity",
			"Content-Length: $N\r\nTransfer-Encoding: identity, chunked", "Content-Length: $N\r\nTransfer-Encoding:\x0bchunked", "Content-Length: $N\r\nTransfer-Encoding: \"chunked\"",
			"Content-Length: $N\r\nTransfer-Encoding : chunked", "Content-Length: $N\r\n Transfer-Encoding: chunked", "Content-Length: $N\r\nX: a\r\n\tTransfer-Encoding: chunked",
			"Content-Length: $N\r\nX: a\nTransfer-Encoding: chunked", "Content-Length: $N\r\nX: a\rTransfer-Encoding: chunked", "Content-Length: $N\r\nTransfer_Encoding: chunked",
			"Content-Length: $N\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Content-Length: $N\r\nTransfer-Encoding:\r\n chunked", "Content-Length: $N\r\nTE: chunked",
			"Content-Length: $N\r\nConnection: content-length", "Content-Length: $N\r\nExpect: 100-continue", "Content_Length: 0\r\nContent-Length: $N", "content-length: 0\r\n\r\n",
			"Content-Length: $N\r\nTransfer-Encoding: \xc4\x8bhunked", "Content-Length: $N\r\nConnection: Upgrade\r\nUpgrade: h2c", "Content-Length: 0\x00$N",
		} {
			for _, lead := range []string{"", "0\r\n\r\n", "4\r\n{}  \r\n0\r\n\r\n"} {
				more := strings.ReplaceAll(head, "$N", fmt.Sprint(len(lead)+len(hidden)))
				add("hidden "+head, first+" HTTP/1.1\r\nHost: $HOST\r\n"+version+"Content-Type: application/json\r\n"+more+"\r\n\r\n"+lead+hidden)
			}
		}
		for _, chunk := range []string{
			"2;x=\"\r\n{}\r\n0\r\n\r\n", "2;\n{}\r\n0\r\n\r\n", "2\n{}\n0\n\n", "0x2\r\n{}\r\n0\r\n\r\n", "2 \r\n{}\r\n0\r\n\r\n", "00000000000000002\r\n{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n",
			"-2\r\n{}\r\n0\r\n\r\n", "ffffffffffffffff2\r\n{}\r\n0\r\n\r\n", "2\r\n{}\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n", "0\r\nX: " + strings.Repeat("t", 200<<10) + "\r\n\r\n",
			"2;" + strings.Repeat("e", 100<<10) + "\r\n{}\r\n0\r\n\r\n",
		} {
			add("chunk", first+" HTTP/1.1\r\nHost: $HOST\r\n"+version+"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+hidden)
		}
	}
	// First lines and paths.
	whole := func(method, target string, more ...string) string {
		return method + " " + target + " HTTP/1.1\r\nHost: $HOST\r\n" + version + strings.Join(append(more, ""), "\r\n") +
			"Content-Type: application/json\r\nContent-Length: 19\r\nConnection: close\r\n\r\n" + active
	}
	for _, target := range []string{
		"http://$HOST" + path, "http://example.org" + path, "https://$HOST" + path, "//" + "$HOST" + path, "/" + path, "$HOST:80", "*", "x:" + path, strings.TrimPrefix(path, "/"),
		strings.ReplaceAll(path, "/", "//"), strings.Replace(path, "/states", "%2fstates", 1), strings.Replace(path, "/states", "%2Fstates", 1), strings.Replace(path, "/states", "%252fstates", 1),
		strings.Replace(path, "/states", ";a=b/states;c", 1), path + ";x", path + "/", path + "/.", path + "//", path + "/../provision", "/v1/../v1/nodes/" + uuid + "/states/provision", "/x/.." + path,
		"/v1/nodes/" + uuid + "/states/./provision", "/v1/nodes/" + uuid + "/x/../states/provision", path + "%20", path + "%00", path + "%0d%0aX:%20y", path + ".json", path + "?target=active", path + "#x",
		strings.Replace(path, "states", "st%61tes", 1), strings.Replace(path, "provision", "provisio%6e", 1), strings.Replace(path, "provision", "provision%09", 1), strings.ToUpper(path),
		strings.Replace(path, "states", "States", 1), strings.ReplaceAll(path, "/", "\\"), strings.Replace(path, "/states", "/%2e%2e/"+uuid+"/states", 1), "/v1/nodes/" + name + "/states/provision",
		"/v1/nodes/" + strings.Replace(name, "~", "%7e", 1) + "/states/provision", "/v1/nodes/" + strings.ToUpper(uuid) + "/states/provision", "/v1/nodes/" + strings.ReplaceAll(uuid, "-", "") + "/states/provision",
		path + "/active", path + "/active/x", path + "/%61ctive", "/v1/nodes/" + uuid + "/states%2fprovision%2factive", "/nodes/" + uuid + "/states/provision", "/v1/v1/nodes/" + uuid + "/states/provision",
	} {
		for _, method := range []string{"PUT", "put", "PUT\x0b", "PROVISION", "POST"} {
			add(method+" "+target, whole(method, target))
		}
	}
	for _, more := range []string{"X-HTTP-Method-Override: PUT", "X-HTTP-Method: PUT", "X-Method-Override: PUT", "X_HTTP_Method_Override: PUT", "X-Original-URL: " + path, "X-Rewrite-URL: " + path} {
		for _, method := range []string{"GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"} {
			add(method+" "+more, whole(method, path, more))
			add(method+" "+more+" elsewhere", whole(method, "/v1/nodes/"+uuid, more))
			add(method+" with _method", whole(method, path+"?_method=PUT&target=active"))
		}
	}
	for _, body := range bodies() {
		add("body "+body[:min(len(body), 60)], fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: $HOST\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", path, version, len(body), body))
		add("ask "+body[:min(len(body), 60)], fmt.Sprintf("POST /v1/isready HTTP/1.1\r\nHost: $HOST\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body))
	}
	return all
}

// bodies say one target to one reader and another one to others, or are made to be hard to
// read: none of them may start anything.
func bodies() []string {
	deep := func(open, shut string) string {
		const levels = 200_000
		return `{"target":"manage","x":` + strings.Repeat(open, levels) + strings.Repeat(shut, levels) + `,"target":"active"}`
	}
	return []string{
		`{"target":"manage","target":"active"}`, `{"target":"active","target":"abort"}`, `{"target":"abort","TARGET":"active"}`, `{"t\u0061rget":"active"}`, `{"target":"abort","t\u0061rget":"active"}`,
		`{"target":"abort"}{"target":"active"}`, "\xef\xbb\xbf" + `{"target":"active"}`, `{"target":"abort\u0000","target":"active"}`, "{\"target\":\"abort\xff\",\"target\":\"active\"}",
		`{"\ud800target":"abort","target":"active"}`, `{"x":` + strings.Repeat("9", 100_000) + `,"target":"active"}`, `{"x":1e999999,"target":"active"}`, `{"x":NaN,"target":"active"}`, `{"x":-Infinity,"target":"active"}`,
		`{"x":"` + "\n\t" + `","target":"active"}`, `{'target':'active'}`, `{"target":"active",}`, `/**/{"target":"active"}`, `[{"target":"active"}]`, `{"target":["active"]}`, `{"target":{"target":"active"}}`,
		deep("[", "]"), deep(`{"a":`, "1}"), strings.Repeat("[", 300_000), strings.Repeat(`{"a":`, 300_000), `{"target":"active"` + strings.Repeat(" ", 60_000) + "}",
		`{` + strings.Repeat(`"a":1,`, 50_000) + `"target":"active"}`, `{"a` + strings.Repeat("a", 500_000) + `":1,"target":"active"}`,
	}
}
