package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// statements has those that go missing, and calls that change places.
func (d *finder) statements(list []ast.Stmt) {
	swapped := -1
	for i, s := range list {
		d.remove(s)
		if i+1 < len(list) && i > swapped && isCall(s) && isCall(list[i+1]) {
			d.swap(s, list[i+1])
			swapped = i + 1
		}
	}
}

func (d *finder) remove(s ast.Stmt) {
	const without = "if !ON { INNER\n}"
	switch s := s.(type) {
	case *ast.ExprStmt:
		if !isPanic(s.X) {
			d.wrap("removed", s, "", without)
		}
	case *ast.BranchStmt:
		if s.Tok == token.BREAK || s.Tok == token.CONTINUE {
			d.wrap("removed", s, "", without)
		}
	case *ast.IncDecStmt:
		d.wrap("removed", s, "", without)
		d.other(s, map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok], s.TokPos)
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE || len(s.Lhs) == 1 && isBlank(s.Lhs[0]) {
			return
		}
		d.wrap("removed", s, "", without)
		if (s.Tok == token.ADD_ASSIGN || s.Tok == token.SUB_ASSIGN) && d.isNumber(s.Lhs[0]) {
			d.other(s, map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[s.Tok], s.TokPos)
		}
	}
}

// other has another operator of two bytes at pos.
func (d *finder) other(s ast.Stmt, op string, pos token.Pos) {
	after := d.text(s.Pos(), pos) + op + d.text(pos+2, s.End())
	d.wrap("arithmetic", s, after, "if ON { "+after+"\n} else { INNER\n}")
}

func (d *finder) swap(a, b ast.Stmt) {
	after := d.text(b.Pos(), b.End()) + "\n" + d.text(a.Pos(), a.End())
	d.add("order", a, after, mutant{
		start: d.at(a.Pos()), end: d.at(b.End()),
		wrap: func(m *mutant, inner string) string {
			return "if " + m.on() + " { " + after + "\n} else { " + inner + "\n}"
		},
	})
}

// results has what a function returns, turned round or empty.
func (d *finder) results(n *ast.ReturnStmt) {
	sig := d.signature()
	if sig == nil || sig.Results().Len() != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		t := sig.Results().At(i).Type()
		switch v := d.p.info.Types[e]; {
		case isBool(t) && isBool(v.Type):
			d.wrap("result", e, "!("+d.text(e.Pos(), e.End())+")", "((INNER) != ON)")
		case v.IsNil() || isZero(d.text(e.Pos(), e.End())):
		default:
			if name, ok := d.p.typeName(d.f, t); ok {
				d.wrap("result", e, "zero", "mutZero["+name+"](ON, INNER)")
			}
		}
	}
}

func isZero(text string) bool { return text == "0" || text == `""` || strings.HasSuffix(text, "{}") }

// signature is that of the function that it is in.
func (d *finder) signature() *types.Signature {
	for i := len(d.path) - 1; i >= 0; i-- {
		var t types.Type
		switch f := d.path[i].(type) {
		case *ast.FuncLit:
			t = d.p.info.TypeOf(f)
		case *ast.FuncDecl:
			t = d.p.info.Defs[f.Name].Type()
		default:
			continue
		}
		sig, _ := t.(*types.Signature)
		return sig
	}
	return nil
}

// function names the declared function that it is in.
func (d *finder) function() string {
	for _, n := range d.path {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Recv == nil {
			return f.Name.Name
		}
		t := strings.TrimPrefix(d.text(f.Recv.List[0].Type.Pos(), f.Recv.List[0].Type.End()), "*")
		return fmt.Sprintf("%s.%s", t, f.Name.Name)
	}
	return "-"
}

func (d *finder) base() string { return filepath.Base(d.f.path) }

func isCall(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	return ok && !isPanic(e.X)
}

func isPanic(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := c.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

func isBlank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "_"
}

// short is text in one line of a readable length.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 90 {
		text = string(r[:60]) + " ... " + string(r[len(r)-25:])
	}
	if text == "" {
		return "nothing"
	}
	return text
}
