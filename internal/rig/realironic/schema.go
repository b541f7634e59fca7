package realironic

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// schemas are the SQLite databases with which the Ironics of each Root begin. All of one Root are the
// same, and ironic-dbsync takes seconds for each.
var schemas = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}

// createSchema makes the database of an Ironic that has no nodes yet.
func (i *Ironic) createSchema(ctx context.Context) error {
	if i.place.mariadb {
		return i.dbSync(ctx)
	}
	schemas.Lock()
	defer schemas.Unlock()
	path := i.place.file(sqliteFile)
	if made := schemas.made[i.place.root]; made != nil {
		if err := os.WriteFile(path, made, 0o600); err != nil {
			return fmt.Errorf("write the database: %w", err)
		}
		return nil
	}
	if err := i.dbSync(ctx); err != nil {
		return err
	}
	made, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	schemas.made[i.place.root] = made
	return nil
}

func (i *Ironic) dbSync(ctx context.Context) error {
	_, err := i.place.runOnce(ctx, "", "ironic-dbsync", i.args("create_schema")...)
	return err
}
