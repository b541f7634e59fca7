package svg

import "strings"

// advances are the widths of the characters from space to ~ in Liberation Sans, in
// 1/2048 of the font's size.
var advances = [...]uint16{
	569, 569, 727, 1139, 1139, 1821, 1366, 391, 682, 682, 797, 1196, 569, 682, 569, 569,
	1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 1139, 569, 569, 1196, 1196, 1196, 1139,
	2079, 1366, 1366, 1479, 1479, 1366, 1251, 1593, 1479, 569, 1024, 1366, 1139, 1706, 1479, 1593,
	1366, 1593, 1479, 1366, 1251, 1479, 1366, 1933, 1366, 1366, 1251, 569, 569, 569, 961, 1139,
	682, 1139, 1139, 1024, 1139, 1139, 569, 1139, 1139, 455, 455, 1024, 455, 1706, 1139, 1139,
	1139, 1139, 682, 1024, 569, 1139, 1024, 1479, 1024, 1024, 1024, 684, 532, 684, 1196,
}

// slack is how much wider than ours a reader's font may be.
const slack = 1.13

// TextWidth is the width of a line of text in Liberation Sans of that size. A
// character beyond ASCII counts as wide as the size.
func TextWidth(text string, size float64) float64 {
	sum := 0
	for _, r := range text {
		if i := int(r) - ' '; i >= 0 && i < len(advances) {
			sum += int(advances[i])
		} else {
			sum += 2048
		}
	}
	return float64(sum) * size / 2048
}

// wrap breaks a text into lines that fit into width with slack: where the text has a line
// break, between words, and within a word that is too wide itself.
func wrap(text string, size, width float64) []string {
	return wrapAll(strings.Split(text, "\n"), size, width)
}

func wrapAll(lines []string, size, width float64) []string {
	fits := func(s string) bool { return TextWidth(s, size)*slack <= width }
	var out []string
	for _, line := range lines {
		now := ""
		for word := range strings.FieldsSeq(line) {
			if longer := strings.TrimSpace(now + " " + word); fits(longer) {
				now = longer
				continue
			}
			if now != "" {
				out = append(out, now)
			}
			for !fits(word) {
				n := fitting(word, fits)
				out, word = append(out, word[:n]), word[n:]
			}
			now = word
		}
		if now != "" {
			out = append(out, now)
		}
	}
	return out
}

// fitting is how many bytes of word fit into a line, at least one character.
func fitting(word string, fits func(string) bool) int {
	n := 0
	for i := range word {
		if n > 0 && !fits(word[:i]) {
			break
		}
		n = i
	}
	if n == 0 {
		return len(word)
	}
	return n
}
