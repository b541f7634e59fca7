package holds

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	labelManager = "app.kubernetes.io/managed-by"
	manager      = "ironic-throttle"
)

// shard is one ConfigMap.
type shard struct {
	n    int
	name string
	api  client.ConfigMapInterface
	by   *writer
	log  *slog.Logger

	// lines are the records that it is to hold, by UUID, and dirty tells that it does not
	// yet.
	lines map[string][]byte
	dirty bool
	aside []byte
	left  int // lines left out for want of room
	room  int // bytes for all keys
	// limits are the text of what is known of limits, where they are kept here: as it was read, also
	// where that cannot be parsed, until it is replaced. unsaved tells that the ConfigMap does not
	// have them yet, noRoom that they were left out.
	limits  string
	unsaved bool
	noRoom  bool
	// others are the keys that this version does not know, as they were read.
	others others
	// meta is that of the latest object seen; without a resourceVersion there is none.
	meta metav1.ObjectMeta
}

// claim reads the ConfigMap and writes it under our name. Whatever another process
// writes in between is read again.
func (s *shard) claim(ctx context.Context) (found, error) {
	for range tries {
		f, err := s.read(ctx)
		if err == nil {
			err = s.put(ctx)
		}
		if !moved(err) {
			return f, err
		}
	}
	return found{}, errBusy
}

// errBusy tells that somebody else was faster each time.
var errBusy = errors.New("is changed again and again by somebody else")

// moved tells that the object is not the one that was seen.
func moved(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

func (s *shard) read(ctx context.Context) (found, error) {
	cm, err := s.get(ctx)
	if err != nil {
		return found{}, err
	}
	s.by.packing.Lock()
	defer s.by.packing.Unlock()
	c, written := contentOf(cm.Data, cm.BinaryData)
	f := c.parse(s.n)
	f.written = written
	s.lines, s.aside, s.others, s.dirty = f.lines, c.aside, c.others, true
	if len(s.aside) > maxAside {
		s.aside = nil
	}
	if s.n == limitShard {
		s.limits, s.unsaved = c.limits, false
	}
	if f.unread > 0 {
		s.log.Error("a ConfigMap of holds has records that cannot be read, of a later version or broken; they are kept aside and"+
			" hosts without a record that have failed are held from now on",
			"configMap", s.name, "unread", f.unread, "read", len(f.records), "last", f.why, "key", keyAside)
		if s.aside = c.setAside(); s.aside == nil {
			s.log.Error("what could not be read is too large to be kept", "configMap", s.name)
		}
	}
	return f, nil
}

// get reads the ConfigMap, an empty one where there is none.
func (s *shard) get(ctx context.Context) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cm, err := s.api.Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		cm = &corev1.ConfigMap{}
	case err != nil:
		return nil, err
	}
	s.meta = cm.ObjectMeta
	return cm, nil
}

// save writes what is to be there, unless another process has taken over.
func (s *shard) save(ctx context.Context) error {
	for range tries {
		err := s.put(ctx)
		gone := apierrors.IsNotFound(err) && s.meta.ResourceVersion != ""
		if !gone && !moved(err) {
			return err
		}
		cm, err := s.get(ctx)
		if err != nil {
			return err
		}
		if err := s.by.may(cm.Annotations); err != nil {
			return err
		}
	}
	return errBusy
}

// look makes s dirty where somebody else has changed the ConfigMap since we wrote it.
func (s *shard) look(ctx context.Context) error {
	ours := s.meta.ResourceVersion
	cm, err := s.get(ctx)
	if err != nil || cm.ResourceVersion == ours {
		return err
	}
	if err := s.by.may(cm.Annotations); err != nil {
		return err
	}
	s.dirty = true
	if !s.unsaved { // else it may be a write of ours whose answer was lost
		s.log.Warn("a ConfigMap of holds was changed by somebody else: it is written anew", "configMap", s.name)
	}
	return nil
}

// put writes once, if we lead. What it writes over it has read before it asks: whatever
// another leader has written since is of a newer resourceVersion.
func (s *shard) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cm, left, noRoom := s.object()
	if !s.by.leading() {
		return ErrNotLeading
	}
	var err error
	if cm.ResourceVersion == "" {
		cm, err = s.api.Create(ctx, cm, metav1.CreateOptions{})
	} else {
		cm, err = s.api.Update(ctx, cm, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	s.meta = cm.ObjectMeta
	s.dirty, s.unsaved = false, false
	if left > 0 && s.left == 0 {
		s.log.Error("a ConfigMap has no room for all holds: those that were released or have begun the longest time ago are left out,"+
			" a restart or another leader would not know them", "configMap", s.name, "holds", len(s.lines), "left", left)
	}
	if noRoom && !s.noRoom {
		s.log.Warn("a ConfigMap has no room for what is known of limits beside the holds: it is left out, a restart or another leader would learn it anew",
			"configMap", s.name, "bytes", len(s.limits))
	}
	s.left, s.noRoom = left, noRoom
	return nil
}

// keepOthers adds what this version does not know, where there is room beside c.
func (s *shard) keepOthers(cm *corev1.ConfigMap, c content) {
	bytes := s.others.size()
	if bytes > 0 && c.size()+len(c.limits)+bytes > s.room {
		s.log.Warn("a ConfigMap of holds has keys that this version does not know, and no room for them beside the holds: they are removed",
			"configMap", s.name, "bytes", bytes)
		s.others = others{}
	}
	maps.Copy(cm.Data, s.others.data)
	maps.Copy(cm.BinaryData, s.others.binary)
}

// object is the ConfigMap as it is to be, with what others have set on it. left holds, and limits
// where there is noRoom, are not in it.
func (s *shard) object() (cm *corev1.ConfigMap, left int, noRoom bool) {
	s.by.packing.Lock()
	defer s.by.packing.Unlock()
	c, left := contentFor(s.lines, s.aside, s.room)
	cm = &corev1.ConfigMap{ObjectMeta: *s.meta.DeepCopy(), Data: map[string]string{}, BinaryData: map[string][]byte{}}
	cm.Name, cm.ManagedFields = s.name, nil
	s.by.sign(&cm.ObjectMeta)
	metav1.SetMetaDataLabel(&cm.ObjectMeta, labelManager, manager)
	if c.packed != nil {
		cm.BinaryData[keyPacked] = c.packed
	} else {
		cm.Data[keyText] = c.text
	}
	if len(c.aside) > 0 {
		cm.BinaryData[keyAside] = c.aside
	}
	if noRoom = s.limits != "" && c.size()+len(s.limits) > s.room; s.limits != "" && !noRoom {
		cm.Data[keyLimits] = s.limits
		c.limits = s.limits
	}
	s.keepOthers(cm, c)
	return cm, left, noRoom
}
