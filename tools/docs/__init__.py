"""Builds the documents: runs their examples, puts fresh output in place, and makes the pages of the measures.

A page is plain Markdown that reads well as it stands. What is run, in one session a page (one for the whole tutorial):

- a fence of `python`; the fence of `output` after it is what it printed, or the value of its last line
- a fence of `console`: each line that begins with `$ ` is a command, what follows is its output; `$ echo $?` must follow one that
  fails
- a fence with `title="NAME"` is written to the file of that name first
- `<!--python … -->` and `<!--console … -->`: the same, unseen
- `12.5<!--= EXPRESSION -->`: the number before it is the value of the expression, with as many decimals as stand there
- `<!--table EXPRESSION -->`: the table under it is the value of the expression
- `<!-- not run: REASON -->` before a fence leaves it alone

What is none of these is refused: another comment, a number or spelling that a directive does not understand, a fence by tildes,
an indented one that would be run, and one without a language that shows values like 0.6126.

Times differ from run to run: in a fence of `console times` or `output times` the numbers under a header of times (`ms`, `s`,
`MB`, `queries/s`) or by the keys 'mean', 'p50' and 'p95' may differ, and decimals before `s`, `ms` or `MB`;
`0.4<!--~ EXPRESSION -->` may be off by a factor of 20.
"""
