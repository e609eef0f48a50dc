package route

import (
	"fmt"
	"regexp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// maxWork is the maximum number of bytes that the functions of one evaluation read and produce. CEL
// checks only between loop steps whether to stop, and counts a function's cost after it has
// returned: distinct() of 340 kB takes 23 seconds, split("").join(body) of 60 kB takes 4 GB.
const maxWork = 16 << 20

// meterName resolves to the evaluation's meter. No expression can contain this name.
const meterName = "@meter"

// meter is the remaining part of maxWork.
type meter struct{ left int }

// charge takes work from the meter. If too little is left, it ends the evaluation.
func (m *meter) charge(function string, work int) {
	m.left -= work
	if m.left < 0 {
		panic(interpreter.EvalCancelledError{
			Cause:   interpreter.CostLimitExceeded,
			Message: fmt.Sprintf("%s has too much to do: an expression may work through %d MiB", functionName(function), maxWork>>20),
		})
	}
}

func functionName(function string) string {
	if name, isOperator := operators.FindReverse(function); isOperator && name != "" {
		return name
	}
	return function
}

// guardCalls returns a decorator that charges the meter for each call before it is made, and for
// the result afterwards. Calls without a work rule are free.
func guardCalls(env *cel.Env) (interpreter.InterpretableDecoratorV2, error) {
	bindings := make(map[string]*functions.Overload)
	for _, function := range env.Functions() {
		bound, err := function.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind function %s: %w", function.Name(), err)
		}
		for _, b := range bound {
			bindings[b.Operator] = b
		}
	}
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, isCall := i.(interpreter.InterpretableCall)
		if !isCall {
			return i, nil
		}
		rule, _ := workOf(call.Function())
		if rule == nil {
			return i, nil
		}
		binding := bindings[call.OverloadID()]
		if binding == nil {
			binding = bindings[call.Function()]
		}
		guarded := &guardedCall{InterpretableCall: call, args: call.Args(), rule: rule, binding: binding}
		if call.Function() == overloads.Matches {
			if err := guarded.compilePattern(); err != nil {
				return nil, err
			}
		}
		return guarded, nil
	}, nil
}

// guardedCall replaces one of CEL's call nodes, which cannot be called with evaluated arguments.
type guardedCall struct {
	interpreter.InterpretableCall

	args     []interpreter.InterpretableV2
	constant []ref.Val // values of constant arguments, which follow args
	rule     workRule
	binding  *functions.Overload // nil if the function is a method of its first argument
}

// compilePattern compiles a constant pattern once, when the expression is compiled, as CEL would.
// It removes the pattern from args. Otherwise CEL would replace the call with its own node, which
// has no guard.
func (c *guardedCall) compilePattern() error {
	pattern, isConst := c.args[1].(interpreter.InterpretableConst)
	if !isConst {
		return nil
	}
	text, _ := pattern.Value().(types.String)
	size, err := patternSize(string(text))
	if err != nil {
		return err
	}
	if size > maxPattern {
		return fmt.Errorf("the pattern of matches is too large: it compiles to about %d instructions, and at most %d are allowed; repeats multiply the size", size, maxPattern)
	}
	compiled, err := regexp.Compile(string(text))
	if err != nil {
		return fmt.Errorf("compile pattern: %w", err)
	}
	states, err := types.RegexProgramSize(string(text))
	if err != nil {
		return fmt.Errorf("compile pattern: %w", err)
	}
	c.args, c.constant = c.args[:1], []ref.Val{text}
	c.rule = func(args []ref.Val, _ int) int { return statesWork(states, args) }
	c.binding = &functions.Overload{Binary: func(value, _ ref.Val) ref.Val {
		s, isText := value.(types.String)
		if !isText {
			return types.MaybeNoSuchOverloadErr(value)
		}
		return types.Bool(compiled.MatchString(string(s)))
	}}
	return nil
}

// Args implements interpreter.InterpretableCall.
func (c *guardedCall) Args() []interpreter.InterpretableV2 { return c.args }

// Exec implements interpreter.InterpretableV2. If an argument is an error or unknown, that argument
// is the result, as it is for CEL's own calls: all functions that have a rule are strict.
func (c *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, 0, len(c.args)+len(c.constant))
	for _, arg := range c.args {
		value := arg.Exec(frame)
		if types.IsUnknownOrError(value) {
			return value
		}
		args = append(args, value)
	}
	args = append(args, c.constant...)
	meter := meterOf(frame)
	meter.charge(c.Function(), c.rule(args, meter.left))
	result := types.LabelErrNode(c.ID(), c.call(args))
	// The result of + is free: concatWork has charged for texts, and a loop with + builds a single
	// list.
	if c.Function() != operators.Add {
		meter.charge(c.Function(), textLen(result)+mul(countOf(result), valueWeight))
	}
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalVarArgs(frame, c.ID(), c.InterpretableCall, args, result)
	}
	return result
}

// Eval implements interpreter.Interpretable.
func (c *guardedCall) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

// call calls the function in the same way as the nodes of CEL's interpreter.
func (c *guardedCall) call(args []ref.Val) ref.Val {
	switch c.Function() {
	case operators.Equals:
		return types.Equal(args[0], args[1])
	case operators.NotEquals:
		return types.Bool(types.Equal(args[0], args[1]) != types.True)
	}
	if b := c.binding; b != nil && (b.OperandTrait == 0 || args[0].Type().HasTrait(b.OperandTrait)) {
		switch {
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
	}
	if receiver, ok := args[0].(traits.Receiver); ok && args[0].Type().HasTrait(traits.ReceiverType) {
		return receiver.Receive(c.Function(), c.OverloadID(), args[1:])
	}
	return types.NewErr("no such overload: %s", c.Function())
}

// meterOf returns the evaluation's meter, or a full meter for constants, which CEL evaluates when
// the expression is compiled.
func meterOf(vars interpreter.Activation) *meter {
	if value, found := vars.ResolveName(meterName); found {
		if m, ok := value.(*meter); ok {
			return m
		}
	}
	return &meter{left: maxWork}
}
