package hosts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is a BareMetalHost on its way from the wire into the directory: what the
// Reflector must see of it, and the Host. It lives no longer than that.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta // the resource version alone
	host              Host
	fault             error // a field of another type than it should have
}

// DeepCopyObject makes it a runtime.Object.
func (o *object) DeepCopyObject() runtime.Object {
	c := *o
	c.ObjectMeta = *o.ObjectMeta.DeepCopy()
	return &c
}

// read reads an object; its error is that of text that is no JSON.
func (p *parser) read(raw []byte) (*object, error) {
	h, version, fault, err := p.readHost(raw)
	if err != nil {
		return nil, err
	}
	return &object{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}, host: h, fault: fault}, nil
}
