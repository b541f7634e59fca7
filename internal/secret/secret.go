// Package secret hides secrets in texts from elsewhere, such as what Ironic says about a request.
package secret

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// long is the length in bytes from which Hide hides a secret even within a word: no text has it by chance.
const long = 8

// Hide replaces each of secrets in text. A short one stays within a longer word, which is another word: with the
// password "pass", the text "Incorrect username or password" stays whole.
func Hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		text = hide(text, secret)
	}
	return text
}

func hide(text, secret string) string {
	if secret == "" {
		return text
	}
	var out strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, secret)
		if i < 0 {
			return out.String() + rest
		}
		end := i + len(secret)
		if before := text[:len(text)-len(rest)+i]; len(secret) >= long || !joins(before, secret) && !joins(secret, rest[end:]) {
			out.WriteString(rest[:i] + "xxxxx")
			rest = rest[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(rest[i:])
		out.WriteString(rest[:i+size])
		rest = rest[i+size:]
	}
}

// joins reports whether the end of left and the start of right are parts of one word.
func joins(left, right string) bool {
	last, _ := utf8.DecodeLastRuneInString(left)
	first, _ := utf8.DecodeRuneInString(right)
	return word(last) && word(first)
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
