//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"strings"
	"unicode/utf16"
)

// in makes a spelling of a body for the canonical path.
func in(name, contentType, body string) spelling {
	return spelling{name: name, write: request(putNode, contentType, body)}
}

// clearly is in for one that must be carried out when a slot is free.
func clearly(name, contentType, body string) spelling {
	s := in(name, contentType, body)
	s.canonical = true
	return s
}

// querySpellings mix a target in the query with others. What Ironic cannot read as
// JSON it leaves out, and the query counts.
var querySpellings = []spelling{
	{name: "query beside a JSON list", write: request(putNode+"?target=inspect", asJSON, `[]`)},
	{name: "query beside a JSON string", write: request(putNode+"?target=inspect", asJSON, `"abort"`)},
	{name: "query beside a text", write: request(putNode+"?target=inspect", "text/plain", `{"target":"abort"}`)},
	{name: "query beside broken JSON", write: request(putNode+"?target=inspect", asJSON, `{"target":"abort"`)},
	{name: "query beside a number too long for Python", write: request(putNode+"?target=inspect", asJSON, `{"target":"abort","clean_steps":`+strings.Repeat("1", 5000)+`}`)},
	{name: "query beside wrong UTF-8", write: request(putNode+"?target=inspect", asJSON, "{\"target\":\"abort\",\"x\":\"\xff\"}")},
	{name: "query beside deep JSON", write: request(putNode+"?target=inspect", asJSON, `{"target":"abort","x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)},
	{name: "query and JSON abort", write: request(putNode+"?target=inspect", asJSON, `{"target":"abort"}`)},
	{name: "query abort, JSON inspect", write: request(putNode+"?target=abort", asJSON, inspect)},
	{name: "query abort, form inspect", write: request(putNode+"?target=abort", asForm, "target=inspect")},
	{name: "path abort, JSON inspect", write: request(putNode+"/abort", asJSON, inspect)},
	{name: "path inspect, JSON abort", write: request(putNode+"/inspect", asJSON, `{"target":"abort"}`)},
	{name: "path inspect, query abort", write: request(putNode+"/inspect?target=abort", "", "")},
	{name: "query twice", write: request(putNode+"?target=abort&target=inspect", "", "")},
	{name: "query twice, the other way", write: request(putNode+"?target=inspect&target=abort", "", "")},
	{name: "query, semicolon before", write: request(putNode+"?;target=inspect", "", "")},
	{name: "query, semicolon between", write: request(putNode+"?target=abort;target=inspect", "", "")},
	{name: "query, ampersand in the key", write: request(putNode+"?x%26target=inspect", "", "")},
	{name: "query, NUL in the key", write: request(putNode+"?target%00=inspect", "", "")},
	{name: "query, brackets", write: request(putNode+"?target[]=inspect", "", "")},
	{name: "query, capitals", write: request(putNode+"?TARGET=inspect", "", "")},
	{name: "query, blank before", write: request(putNode+"?target=+inspect", "", "")},
	{name: "query, bad per cent", write: request(putNode+"?x=%zz&target=inspect", "", "")},
	{name: "query, a blank of Latin-1 after it", write: request(putNode+"?target=inspect\xa0", "", "")},
	{name: "query, long", write: request(putNode+"?"+strings.Repeat("&", 7000)+"target=inspect", "", "")},
	{name: "query, too long", write: request(putNode+"?"+strings.Repeat("&", 60000)+"target=inspect", "", "")},
	{name: "query with a slash", write: request(putNode+"?/../&target=inspect", "", "")},
	{name: "query in the path", write: request(putNode+"%3Ftarget=inspect", "", "")},
	{name: "fragment", write: request(putNode+"?target=inspect#x", "", "")},
	{name: "JSON in a query", write: request(putNode+"?"+inspect, "", "")},
}

// formSpellings hide the target in a form, or something that passes for one.
var formSpellings = []spelling{
	clearly("form", asForm, "target=inspect"),
	clearly("form, letters as numbers", asForm, "%74arget=inspec%74"),
	clearly("form, charset", asForm+"; charset=utf-8", "target=inspect"),
	in("form, charset 7 bit", asForm+"; charset=utf-7", "target=inspect"),
	in("form twice", asForm, "target=abort&target=inspect"),
	in("form, semicolon", asForm, "target=abort;target=inspect"),
	in("form, blanks", asForm, "x=1& target=inspect"),
	in("form after a mebibyte", asForm, strings.Repeat("&", 1<<20)+"target=inspect"),
	in("form without a type", "", "target=inspect"),
	in("form as text", "text/plain", "target=inspect"),
	in("form, capitals in the type", "Application/X-WWW-Form-Urlencoded", "target=inspect"),
	in("form that looks like JSON", asForm, `{"target":"abort","x":"&target=inspect"}`),
	in("JSON that looks like a form", asJSON, `{"target":"abort"}&target=inspect`),
	in("parts", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\ninspect\r\n--B--\r\n"),
	in("parts twice", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=target\r\n\r\nabort\r\n--B\r\nContent-Disposition: form-data; name=target\r\n\r\ninspect\r\n--B--\r\n"),
	in("parts in base64", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"target\"\r\nContent-Transfer-Encoding: base64\r\n\r\naW5zcGVjdA==\r\n--B--\r\n"),
	in("part with a file name", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"target\"; filename=\"f\"\r\n\r\ninspect\r\n--B--\r\n"),
}

// jsonSpellings are objects that two readers may read in two ways.
var jsonSpellings = []spelling{
	clearly("JSON, blanks", asJSON, " \r\n\t{ \"target\" :\n\"inspect\" } \n"),
	clearly("JSON, escapes", asJSON, `{"t\u0061rget":"in\u0073pect"}`),
	clearly("JSON, nulls", asJSON, `{"configdrive":null,"target":"inspect","clean_steps":null}`),
	clearly("JSON, the last of two", asJSON, `{"target":"abort","target":"inspect"}`),
	in("JSON, the first of two", asJSON, `{"target":"inspect","target":"abort"}`),
	in("JSON, the last of two, escaped", asJSON, `{"target":"abort","\u0074\u0061\u0072\u0067\u0065\u0074":"inspect"}`),
	in("JSON, capitals", asJSON, `{"Target":"inspect"}`),
	in("JSON, both", asJSON, `{"target":"inspect","Target":"abort"}`),
	in("JSON, byte order mark", asJSON, "\xef\xbb\xbf"+inspect),
	in("JSON, NaN", asJSON, `{"target":"inspect","clean_steps":NaN}`),
	in("JSON, one more key", asJSON, `{"target":"inspect","x":1}`),
	in("JSON, more after it", asJSON, inspect+"x"),
	in("JSON, more JSON after it", asJSON, `{"target":"abort"} {"target":"inspect"}`),
	in("JSON, NUL before", asJSON, "\x00"+inspect),
	in("JSON, half a surrogate", asJSON, `{"target":"inspect","configdrive":"\ud800"}`),
	in("JSON, control character", asJSON, "{\"target\":\"inspect\",\"rescue_password\":\"a\x01\"}"),
	in("JSON, wrong UTF-8", asJSON, "{\"target\":\"inspect\",\"configdrive\":\"\xff\"}"),
	in("JSON, target in a list", asJSON, `{"target":["inspect"]}`),
	in("JSON, target in an object", asJSON, `{"target":{"target":"inspect"}}`),
	in("JSON, target in capitals", asJSON, `{"target":"INSPECT"}`),
	in("JSON, target with a blank", asJSON, `{"target":" inspect "}`),
	in("JSON, comment", asJSON, `{/*"target":"abort"*/"target":"inspect"}`),
	in("JSON, comma at the end", asJSON, `{"target":"inspect",}`),
	in("JSON, single quotes", asJSON, `{'target':'inspect'}`),
	in("JSON, node too", asJSON, `{"target":"inspect","node_ident":"$ID"}`),
	in("JSON, _method too", asJSON, `{"target":"inspect","_method":"put"}`),
	in("JSON, long text before", asJSON, `{"configdrive":null,"target":"abort","target":"inspect"`+strings.Repeat(" ", 100<<10)+`}`),
}

// typeSpellings are bodies of other types, and types that two readers may read in
// two ways.
var typeSpellings = []spelling{
	clearly("type, charset", asJSON+"; charset=utf-8", inspect),
	clearly("type, charset without a blank", asJSON+";charset=UTF-8", inspect),
	in("type missing", "", inspect),
	in("type text", "text/plain", inspect),
	in("type any", "*/*", inspect),
	in("type of an API", "application/vnd.api+json", inspect),
	in("type in capitals", "Application/JSON", inspect),
	in("type among others", "foo application/json bar", inspect),
	in("type JavaScript", "application/javascript", inspect),
	in("charset UTF-16", asJSON+"; charset=utf-16", utf16Of(inspect)),
	in("UTF-16 without charset", asJSON, utf16Of(inspect)),
	in("charset of a mainframe", asJSON+"; charset=cp037", "\xc0\x7f\xa3\x81\x99\x87\x85\xa3\x7f\x7a\x7f\x89\x95\xa2\x97\x85\x83\xa3\x7f\xd0"),
	in("charset 7 bit", asJSON+"; charset=utf-7", hiddenIn7Bit),
	in("charset 7 bit, in another parameter", asJSON+`; x="; charset=utf-7"`, hiddenIn7Bit),
	in("charset 7 bit, in another parameter, ended", asJSON+`; x=";charset=utf-7;"`, hiddenIn7Bit),
	in("charset 7 bit, in the type", `application/json;"; charset=utf-7"`, hiddenIn7Bit),
	in("charset 7 bit, first of two", asJSON+"; charset=utf-7; charset=utf-8", hiddenIn7Bit),
	in("charset 7 bit, second of two", asJSON+"; charset=utf-8; charset=utf-7", hiddenIn7Bit),
	in("charset 7 bit, RFC 2231", asJSON+"; charset*=us-ascii''utf-7", hiddenIn7Bit),
	in("charset 7 bit, as a tail", asJSON+"; charset=utf-8; x=y; charset=utf-7", hiddenIn7Bit),
	in("charset, escapes of Python", asJSON+"; charset=raw_unicode_escape", `{"target":"abort","t\u0061rget":"inspect"}`),
	in("charset, more escapes of Python", asJSON+"; charset=unicode_escape", `{"target":"abort","t\x61rget":"inspect"}`),
	in("charset unknown", asJSON+"; charset=foo", inspect),
	{name: "gzip", write: request(putNode, asJSON, gzipped(inspect), "Content-Encoding: gzip")},
	{name: "gzip that is none", write: request(putNode, asJSON, inspect, "Content-Encoding: gzip")},
	{name: "encoding identity", write: request(putNode, asJSON, inspect, "Content-Encoding: identity")},
	{name: "two types, JSON last", write: request(putNode, "text/plain", inspect, "Content-Type: application/json")},
	{name: "two types, JSON first", write: request(putNode, asJSON, inspect, "Content-Type: text/plain")},
	{name: "two types, form and JSON", write: request(putNode, asForm, "target=inspect", "Content-Type: application/json")},
	{name: "type named in Connection", write: request(putNode, asJSON, inspect, "Connection: content-type")},
	{name: "type with an underscore", write: request(putNode, "text/plain", inspect, "Content_Type: application/json")},
}

// hiddenIn7Bit is abort in ASCII, and inspect for a reader of UTF-7: "+AGE-" is a.
const hiddenIn7Bit = `{"target":"abort","t+AGE-rget":"inspect"}`

func utf16Of(text string) string {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}
