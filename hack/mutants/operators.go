package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// finder collects the mutants of one file.
type finder struct {
	p     *pkg
	f     *file
	path  []ast.Node // from the file down to where it is
	found []*mutant
	count map[string]int
}

// mutants finds all mutants of p, in the order of its source.
func (p *pkg) mutants() []*mutant {
	var all []*mutant
	for _, f := range p.files {
		d := &finder{p: p, f: f, count: map[string]int{}}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if n == nil {
				d.path = d.path[:len(d.path)-1]
				return true
			}
			if g, ok := n.(*ast.GenDecl); ok && g.Tok != token.VAR {
				return false // what is constant has to stay so
			}
			d.visit(n)
			d.path = append(d.path, n)
			return true
		})
		all = append(all, d.found...)
	}
	return all
}

func (d *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		d.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT && !d.isCondition(n) {
			d.negate(n)
		}
	case *ast.CallExpr:
		d.call(n)
	case *ast.BasicLit, *ast.Ident:
		d.constant(n.(ast.Expr))
	case *ast.IfStmt:
		d.condition(n.Cond, true)
	case *ast.ForStmt:
		if n.Cond != nil {
			d.condition(n.Cond, false) // true never ends
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					d.condition(e, true)
				}
			}
		}
	case *ast.ReturnStmt:
		d.results(n)
	case *ast.BlockStmt:
		d.statements(n.List)
	case *ast.CaseClause:
		d.statements(n.Body)
	case *ast.CommClause:
		d.statements(n.Body)
	}
}

// add notes the mutant of n: before becomes after.
func (d *finder) add(op string, n ast.Node, after string, m mutant) {
	m.file, m.line = d.f, d.p.fset.Position(n.Pos()).Line
	if m.end == 0 {
		m.start, m.end = d.at(n.Pos()), d.at(n.End())
	}
	key := fmt.Sprintf("%s/%s %s: %s: %s => %s", d.p.rel, d.base(), d.function(), op, short(string(d.f.src[m.start:m.end])), short(after))
	if d.count[key]++; d.count[key] > 1 {
		key += fmt.Sprintf(" #%d", d.count[key])
	}
	m.key = key
	d.found = append(d.found, &m)
}

// wrap notes a mutant whose text is format with the inner text and the condition.
func (d *finder) wrap(op string, n ast.Node, after, format string) {
	d.add(op, n, after, mutant{wrap: func(m *mutant, inner string) string {
		return strings.NewReplacer("INNER", inner, "ON", m.on()).Replace(format)
	}})
}

// instead notes a mutant that has the boolean text after instead of n.
func (d *finder) instead(op string, n ast.Expr, after string) {
	d.add(op, n, after, mutant{wrap: func(m *mutant, inner string) string {
		return fmt.Sprintf("func() bool { if %s { return %s }; return %s }()", m.on(), after, inner)
	}})
}

func (d *finder) binary(n *ast.BinaryExpr) {
	if d.p.info.Types[n].Value != nil {
		return
	}
	with := func(op token.Token) string {
		at := d.at(n.OpPos)
		return d.text(n.Pos(), n.OpPos) + op.String() + string(d.f.src[at+len(n.Op.String()):d.at(n.End())])
	}
	boundary := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	arithmetic := map[token.Token][2]string{
		token.ADD: {"mutPlus", "-"}, token.SUB: {"mutMinus", "+"}, token.MUL: {"mutTimes", "/"}, token.QUO: {"mutOver", "*"}, token.REM: {"mutRest", "*"},
	}
	switch other, ok := boundary[n.Op]; {
	case ok:
		if isBool(d.p.info.Types[n].Type) {
			d.instead("boundary", n, with(other))
		}
		fallthrough
	case n.Op == token.EQL || n.Op == token.NEQ:
		if !d.isCondition(n) {
			d.negate(n)
		}
	case n.Op == token.LAND || n.Op == token.LOR:
		other := map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}[n.Op]
		if isBool(d.p.info.Types[n].Type) {
			d.instead("logic", n, with(other))
		}
	default:
		of, ok := arithmetic[n.Op]
		if !ok || !d.isNumber(n) || d.p.info.Types[n.X].Value != nil && d.p.info.Types[n.Y].Value != nil {
			return
		}
		d.add("arithmetic", n, d.text(n.Pos(), n.OpPos)+of[1]+string(d.f.src[d.at(n.OpPos)+1:d.at(n.End())]), mutant{
			parts: [][2]int{{d.at(n.X.Pos()), d.at(n.X.End())}, {d.at(n.Y.Pos()), d.at(n.Y.End())}},
			build: func(m *mutant, parts []string) string {
				return fmt.Sprintf("%s(%s, %s, %s)", of[0], m.on(), parts[0], parts[1])
			},
		})
	}
}

// call has the boundaries of times, and min and max.
func (d *finder) call(n *ast.CallExpr) {
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 1 {
		other := map[string]string{"After": "Before", "Before": "After"}[s.Sel.Name]
		if t := d.p.info.Types[s.X].Type; other != "" && t != nil && t.String() == "time.Time" {
			d.instead("boundary", n, "!"+d.text(s.X.Pos(), s.X.End())+"."+other+d.text(n.Lparen, n.End()))
			if !d.isCondition(n) {
				d.negate(n)
			}
		}
	}
	name, ok := n.Fun.(*ast.Ident)
	if !ok || len(n.Args) != 2 || !d.isNumber(n) {
		return
	}
	if _, ok := d.p.info.Uses[name].(*types.Builtin); !ok {
		return
	}
	if of, ok := map[string][2]string{"min": {"mutMin", "max"}, "max": {"mutMax", "min"}}[name.Name]; ok {
		d.add("arithmetic", n, of[1]+d.text(n.Lparen, n.End()), mutant{
			parts: [][2]int{{d.at(n.Args[0].Pos()), d.at(n.Args[0].End())}, {d.at(n.Args[1].Pos()), d.at(n.Args[1].End())}},
			build: func(m *mutant, parts []string) string {
				return fmt.Sprintf("%s(%s, %s, %s)", of[0], m.on(), parts[0], parts[1])
			},
		})
	}
}

// constant has numbers, and the names of the package's own.
func (d *finder) constant(n ast.Expr) {
	v := d.p.info.Types[n]
	if name, ok := n.(*ast.Ident); ok {
		c, ok := d.p.info.Uses[name].(*types.Const)
		if !ok || c.Pkg() != d.p.types || isEnum(c.Type()) {
			return
		}
		v.Value, v.Type = c.Val(), d.p.info.TypeOf(n)
	}
	if v.Value == nil || v.Value.Kind() != constant.Int && v.Value.Kind() != constant.Float || isEnum(v.Type) {
		return
	}
	switch up := d.path[len(d.path)-1].(type) {
	case *ast.ArrayType, *ast.CaseClause:
		return
	case *ast.KeyValueExpr:
		if up.Key == n {
			return
		}
	case *ast.BinaryExpr:
		if up.Op == token.SHL || up.Op == token.SHR {
			return
		}
	}
	t, ok := d.p.typeName(d.f, v.Type)
	if !ok || !d.isNumber(n) {
		return
	}
	what := d.text(n.Pos(), n.End())
	d.wrap("constant", n, what+" + 1", "mutAdd["+t+"](ON, INNER, 1)")
	if constant.Sign(v.Value) != 0 {
		d.wrap("constant", n, what+" - 1", "mutSub["+t+"](ON, INNER, 1)")
	}
}

func (d *finder) condition(e ast.Expr, always bool) {
	if !isBool(d.p.info.Types[e].Type) || d.p.info.Types[e].Value != nil {
		return
	}
	d.wrap("never", e, "false", "(INNER) && !ON")
	if always {
		d.wrap("always", e, "true", "((INNER) || ON)")
	}
}

func (d *finder) negate(e ast.Expr) {
	if isBool(d.p.info.Types[e].Type) {
		d.wrap("negation", e, "!("+d.text(e.Pos(), e.End())+")", "((INNER) != ON)")
	}
}

// isCondition tells whether e is the whole condition of a statement, which has mutants that say more.
func (d *finder) isCondition(e ast.Expr) bool {
	switch up := d.path[len(d.path)-1].(type) {
	case *ast.IfStmt:
		return up.Cond == e
	case *ast.ForStmt:
		return up.Cond == e
	case *ast.CaseClause:
		return true
	case *ast.ReturnStmt:
		return true // what is returned is negated there
	}
	return false
}

func (d *finder) isNumber(e ast.Expr) bool {
	t := d.p.info.TypeOf(e)
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Info()&types.IsComplex == 0 && b.Info()&types.IsUntyped == 0
}

func isBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// isEnum tells whether t is of its own kind, so that one more means nothing: every named type but a duration.
func isEnum(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && n.String() != "time.Duration"
}

func (d *finder) at(p token.Pos) int { return d.p.fset.Position(p).Offset }

func (d *finder) text(from, to token.Pos) string { return string(d.f.src[d.at(from):d.at(to)]) }
