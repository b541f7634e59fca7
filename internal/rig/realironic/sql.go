package realironic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SQL runs statements on Ironic's database with the database's own program and
// returns what it prints: a row per line, columns with | between them. It is for
// what the API cannot do: states that need a ramdisk, locks, thousands of nodes.
// Ironic may run meanwhile.
func (i *Ironic) SQL(ctx context.Context, statements string) (string, error) {
	return i.place.query(ctx, statements)
}

// SetNode writes columns of one node, behind Ironic's back. A value is nil, a
// string, an int or a bool.
func (i *Ironic) SetNode(ctx context.Context, uuid string, columns map[string]any) error {
	assignments, err := assign(columns)
	if err != nil {
		return err
	}
	where := " WHERE uuid = " + quote(uuid) + ";"
	out, err := i.SQL(ctx, "UPDATE nodes SET "+assignments+where+" SELECT count(*) FROM nodes"+where)
	if err != nil {
		return err
	}
	if n := strings.TrimSpace(out); n != "1" {
		return fmt.Errorf("node %s: there are %s, want 1", uuid, n)
	}
	return nil
}

func assign(columns map[string]any) (string, error) {
	if len(columns) == 0 {
		return "", errors.New("no column to set")
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		value, err := literal(columns[name])
		if err != nil {
			return "", fmt.Errorf("column %s: %w", name, err)
		}
		parts = append(parts, name+" = "+value)
	}
	return strings.Join(parts, ", "), nil
}

func literal(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "NULL", nil
	case string:
		return quote(v), nil
	case int:
		return strconv.Itoa(v), nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	}
	return "", fmt.Errorf("value of type %T: must be nil, string, int or bool", v)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
