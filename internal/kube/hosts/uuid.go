package hosts

// uuid is a UUID as a key: the case of its digits does not matter, and it points nowhere.
type uuid [16]byte

// parseUUID reads the form 8-4-4-4-12 of hexadecimal digits, in either case.
func parseUUID(s string) (id uuid, ok bool) {
	if len(s) != 36 {
		return uuid{}, false
	}
	n := 0
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return uuid{}, false
			}
			continue
		}
		digit, ok := hexDigit(s[i])
		if !ok {
			return uuid{}, false
		}
		id[n/2] = id[n/2]<<4 | digit
		n++
	}
	return id, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
