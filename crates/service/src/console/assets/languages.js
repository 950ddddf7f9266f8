// The languages that the editor highlights: comments, quotes and keywords.

const list = (text) => new Set(text.trim().split(/\s+/));

const C = `
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false NULL size_t
  `;
const CPP = `
    ${C} alignas asm catch class concept consteval constexpr const_cast co_await co_return
    co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept
    nullptr operator override private protected public reinterpret_cast requires static_assert
    static_cast string template this throw try typename using vector virtual final
  `;
const JS = `
    async await break case catch class const continue debugger default delete do else export
    extends false finally for from function get if import in instanceof let new null of return
    set static super switch this throw true try typeof undefined var void while with yield
  `;
const TS = `
    ${JS} abstract any as boolean declare enum implements interface keyof namespace never number
    private protected public readonly string type unknown
  `;
const JAVA = `
    abstract assert boolean break byte case catch char class const continue default do double
    else enum extends false final finally float for if implements import instanceof int
    interface long native new null package private protected public record return sealed short
    static strictfp super switch synchronized this throw throws transient true try var void
    volatile while yield String
  `;
const PYTHON = `
    False None True and as assert async await break case class continue def del elif else except
    finally for from global if import in is lambda match nonlocal not or pass raise return try
    while with yield int str list dict set print range len open input
  `;
const PASCAL = `
    and array as begin boolean case char class const constructor destructor div do downto else
    end except file finally for function goto if implementation in inherited int64 integer
    interface label longint mod nil not object of operator or packed procedure program raise
    real record repeat set shl shr string then to try type unit until uses var while with xor
    true false
  `;
const BASIC = `
    and as boolean byref byval call case class const dim do double each else elseif end exit
    false for function gosub goto if imports in input integer is let long loop mod module
    namespace new next not nothing on open or print public read redim return select shared
    single step string sub then to true until wend while write xor
  `;

const SLASHES = { line: ['//'], block: [['/*', '*/']] };
const HASH = { line: ['#'] };
const DASHES = { line: ['--'] };
const LISP = {
  line: [';'],
  block: [['#|', '|#']],
  quotes: '"',
  word: '[A-Za-z!$%&*/:<=>?^_~+\\-][\\w!$%&*/:<=>?^~+\\-.]*',
};

const LANGUAGES = {
  c: { ...SLASHES, preprocessor: true, keywords: C },
  cpp: { ...SLASHES, preprocessor: true, keywords: CPP, raw: 'R"\\([\\s\\S]*?(?:\\)"|$)' },
  objc: { ...SLASHES, preprocessor: true, keywords: `
    ${C} id self super nil YES NO @interface @implementation @end @property @import @class
    @autoreleasepool
  ` },
  d: { ...SLASHES, keywords: `
    ${CPP} import module in out ref foreach immutable scope unittest alias mixin is cast with
    body string writeln
  `, quotes: '"\'`' },
  java: { ...SLASHES, keywords: JAVA },
  kotlin: { ...SLASHES, keywords: `
    ${JAVA} fun val when is in object companion data lateinit override open internal by it Int
    Long Double Boolean
  `, raw: '"""[\\s\\S]*?(?:"""|$)' },
  scala: { ...SLASHES, keywords: `
    ${JAVA} def val object trait match given then with lazy override type implicit Int Long
    Double Boolean Unit end
  `, raw: '"""[\\s\\S]*?(?:"""|$)' },
  groovy: { ...SLASHES, keywords: `${JAVA} def as in it println trait` },
  csharp: { ...SLASHES, preprocessor: true, keywords: `
    ${JAVA} as async await base bool decimal delegate event explicit extern foreach get set in
    internal is lock namespace nameof object operator out override params readonly ref sealed
    sizeof string struct uint ulong unchecked using value virtual where
  ` },
  vala: { ...SLASHES, keywords: `
    ${JAVA} async bool construct delegate errordomain foreach get set in int64 internal is lock
    namespace out owned override ref signal sizeof string struct unowned using virtual weak
  ` },
  go: { ...SLASHES, quotes: '"\'', raw: '`[^`]*(?:`|$)', keywords: `
    break case chan const continue default defer else fallthrough for func go goto if import
    interface map package range return select struct switch type var true false nil iota any
    bool byte error float32 float64 int int32 int64 rune string uint uint64 append cap len make
    new panic
  ` },
  rust: { ...SLASHES, quotes: '"', character: true, raw: 'r#"[\\s\\S]*?(?:"#|$)', keywords: `
    as async await break const continue crate dyn else enum extern false fn for if impl in let
    loop match mod move mut pub ref return self Self static struct super trait true type unsafe
    use where while bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize
    Box Option Result Some None Ok Err String Vec
  ` },
  zig: { line: ['//'], keywords: `
    align and anytype asm async await break catch comptime const continue defer else enum
    errdefer error export extern fn for if inline noalias null or orelse packed pub return
    struct suspend switch test true false try undefined union unreachable usingnamespace var
    void volatile while bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 anyerror type
  ` },
  swift: { ...SLASHES, keywords: `
    as break case catch class continue default defer do else enum extension fallthrough false
    fileprivate for func guard if import in init inout internal is let nil open operator private
    protocol public repeat return self Self static struct subscript super switch throw throws
    true try typealias var where while Int String Double Bool
  ` },
  dart: { ...SLASHES, keywords: `
    ${JAVA} as async await covariant deferred dynamic export external factory Function get hide
    in is late library mixin num of on operator part required rethrow set show sync typedef with
  ` },
  javascript: { ...SLASHES, keywords: JS, raw: '`(?:\\\\[\\s\\S]|[^`\\\\])*(?:`|$)' },
  typescript: { ...SLASHES, keywords: TS, raw: '`(?:\\\\[\\s\\S]|[^`\\\\])*(?:`|$)' },
  php: { line: ['//', '#'], block: [['/*', '*/']], word: '\\$?[A-Za-z_]\\w*', keywords: `
    abstract and array as break case catch class clone const continue declare default do echo
    else elseif empty enum extends final finally fn for foreach function global if implements
    include instanceof interface isset list match namespace new null or print private protected
    public readonly require return static switch this throw trait true false try unset use var
    while xor yield int string bool float
  ` },
  python: { ...HASH, keywords: PYTHON, raw: '"""[\\s\\S]*?(?:"""|$)|\'\'\'[\\s\\S]*?(?:\'\'\'|$)' },
  ruby: { ...HASH, keywords: `
    BEGIN END alias and begin break case class def defined? do else elsif end ensure false for
    if in module next nil not or puts redo require rescue retry return self super then true
    undef unless until when while yield attr_accessor attr_reader gets
  ` },
  crystal: { ...HASH, keywords: `
    abstract alias as begin break case class def do else elsif end ensure enum extend false for
    fun if in include lib macro module next nil of out private protected require rescue return
    self struct super then true type unless until when while with yield
  ` },
  perl: { ...HASH, word: '[$@%]?[A-Za-z_]\\w*', keywords: `
    and chomp cmp defined delete die do each else elsif eq exists for foreach ge gt if join keys
    last le lc length local lt map my ne next no not or our package pop print printf push qw
    redo ref require return reverse say scalar shift sort split sprintf sub uc undef unless
    unshift until use values wantarray while xor
  ` },
  bash: { ...HASH, word: '\\$?[A-Za-z_]\\w*', keywords: `
    alias break case cd continue declare do done echo elif else esac eval exec exit export false
    fi for function getopts if in let local printf read readonly return select set shift source
    test then time trap true typeset unset until wait while
  ` },
  awk: { ...HASH, word: '\\$?[A-Za-z_]\\w*|\\$\\d+', keywords: `
    BEGIN END break continue delete do else exit for function getline gsub if in index length
    match next nextfile print printf return split sprintf sub substr system tolower toupper
    while NR NF FS OFS RS ORS
  ` },
  sed: { ...HASH, quotes: '', keywords: '' },
  bc: { line: ['#'], block: [['/*', '*/']], keywords: `
    auto break continue define else for halt ibase if length limits obase print quit read return
    scale sqrt while
  ` },
  tcl: { ...HASH, word: '\\$?[A-Za-z_]\\w*', quotes: '"', keywords: `
    after append array break catch close continue else elseif error eval exec exit expr for
    foreach format gets global if incr join lappend lassign lindex list llength lrange lreplace
    lsort namespace open package proc puts read regexp regsub return scan set split string
    switch then unset upvar variable while
  ` },
  r: { ...HASH, keywords: `
    FALSE Inf NA NULL NaN TRUE break else for function if in next repeat return while library
    cat print paste c sum length scan readLines as.numeric
  ` },
  julia: {
    line: ['#'],
    block: [['#=', '=#']],
    quotes: '"',
    raw: '"""[\\s\\S]*?(?:"""|$)',
    keywords: `
    abstract baremodule begin break catch const continue do else elseif end export false finally
    for function global if import in isa let local macro module mutable primitive quote return
    struct true try type using where while println print
  ` },
  octave: { line: ['%', '#'], keywords: `
    break case catch continue do else elseif end end_try_catch endfor endfunction endif
    endswitch endwhile for function global if otherwise persistent return switch try until while
    true false disp printf fscanf input sum
  ` },
  nim: { line: ['#'], block: [['#[', ']#']], raw: '"""[\\s\\S]*?(?:"""|$)', keywords: `
    addr and as asm bind block break case cast concept const continue converter defer discard
    distinct div do elif else end enum except export finally for from func if import in include
    interface is isnot iterator let macro method mixin mod nil not notin object of or out proc
    ptr raise ref return shl shr static template try tuple type using var when while xor yield
    true false int string seq echo
  ` },
  elixir: { ...HASH, raw: '"""[\\s\\S]*?(?:"""|$)', keywords: `
    after and case catch cond def defmodule defp defstruct do else end fn for if import in nil
    not or quote raise receive require rescue true false try unless unquote use when with
  ` },
  erlang: { line: ['%'], keywords: `
    after and andalso band begin bnot bor case catch cond div end fun if let not of or orelse
    receive rem try when xor module export true false ok
  ` },
  haskell: { line: ['--'], block: [['{-', '-}']], quotes: '"', character: true, keywords: `
    as case class data default deriving do else family forall foreign hiding if import in infix
    infixl infixr instance let module newtype of qualified then type where Int Integer String IO
    Bool True False Maybe Just Nothing main
  ` },
  ocaml: { block: [['(*', '*)']], quotes: '"', character: true, keywords: `
    and as assert begin class constraint do done downto else end exception external false for
    fun function functor if in include inherit initializer lazy let match method module mutable
    new object of open or private rec sig struct then to true try type val virtual when while
    with int string bool unit list
  ` },
  sml: { block: [['(*', '*)']], quotes: '"', keywords: `
    abstype and andalso as case datatype do else end exception fn fun functor handle if in infix
    infixr let local nonfix of op open orelse raise rec sharing sig signature struct structure
    then type val where while with withtype true false int string
  ` },
  fsharp: { line: ['//'], block: [['(*', '*)']], quotes: '"', keywords: `
    abstract and as assert base begin class default do done downcast elif else end exception
    extern false finally for fun function if in inherit inline interface internal lazy let match
    member module mutable namespace new null of open or override private public rec return
    static struct then to true try type upcast use val void when while with yield int string seq
  ` },
  commonlisp: { ...LISP, keywords: `
    and case cond declare defmacro defparameter defstruct defun defvar do dolist dotimes flet
    format funcall function if in labels lambda let let* list loop nil not or print progn quote
    read return setf setq t unless when while for collect sum
  ` },
  scheme: { ...LISP, keywords: `
    and begin call/cc case cond define define-syntax delay display do else if import lambda let
    let* letrec newline not or quasiquote quote read set! syntax-rules when unless
  ` },
  racket: { ...LISP, keywords: `
    and begin case cond define define-values display else for for/fold for/list for/sum if
    in-list in-range lambda let let* letrec match module newline not or printf provide quote
    read require set! struct when unless
  ` },
  clojure: { ...LISP, line: [';'], block: [], keywords: `
    and as case catch cond def defmacro defn defn- do doseq dotimes false finally fn for if
    if-let import in-ns let loop nil ns or println quote read-line recur reduce require throw
    true try use when when-let
  ` },
  prolog: { line: ['%'], block: [['/*', '*/']], keywords: `
    is mod rem not true fail false repeat halt write writeln nl read format assertz retract
    findall member append length initialization main
  ` },
  fortran: { line: ['!'], insensitive: true, noEscape: true, keywords: `
    allocatable allocate call case character close complex contains cycle deallocate dimension
    do double else elseif end enddo endif exit false format function goto if implicit in inout
    integer intent interface intrinsic kind logical module none only open out parameter pointer
    precision print procedure program pure read real recursive result return save select stop
    subroutine target then true type use where while write
  ` },
  cobol: { line: ['*>'], insensitive: true, noEscape: true, word: '[A-Za-z][\\w-]*', keywords: `
    accept add at by call close compute data delimited display divide division else end
    end-evaluate end-if end-perform end-read evaluate exit fd file from giving go goback
    identification if input into is line linkage move multiply next not occurs of on open
    organization output perform pic picture procedure program-id read redefines run section
    select set sentence sequential stop string subtract then through thru times to unstring
    until using value varying when working-storage write zero zeros
  ` },
  ada: { ...DASHES, insensitive: true, quotes: '"', character: true, noEscape: true, keywords: `
    abort abs abstract accept access aliased all and array at begin body case constant declare
    delay delta digits do else elsif end entry exception exit for function generic goto if in
    interface is limited loop mod new not null of or others out overriding package pragma
    private procedure protected raise range record rem renames requeue return reverse select
    separate some subtype synchronized tagged task terminate then type until use when while with
    xor integer natural positive boolean string float
  ` },
  pascal: {
    line: ['//'],
    block: [['{', '}'], ['(*', '*)']],
    insensitive: true,
    quotes: "'",
    noEscape: true,
    keywords: PASCAL },
  basic: { line: ["'", 'REM '], insensitive: true, quotes: '"', noEscape: true, keywords: BASIC },
  visualbasic: { line: ["'"], insensitive: true, quotes: '"', noEscape: true, keywords: BASIC },
  forth: {
    line: ['\\\\ '],
    block: [['( ', ')']],
    insensitive: true,
    quotes: '"',
    word: '[^\\s"\\d][^\\s"]*',
    keywords: `
    : ; begin while repeat until again do ?do loop +loop leave i j if else then case of endof
    endcase dup drop swap over rot nip tuck variable constant create allot cells ! @ emit . cr
    type key accept bye recurse exit
  ` },
  lua: { line: ['--'], block: [['--[[', ']]']], raw: '\\[\\[[\\s\\S]*?(?:\\]\\]|$)', keywords: `
    and break do else elseif end false for function goto if in local nil not or repeat return
    then true until while print io string table math ipairs pairs tonumber tostring
  ` },
  sql: { ...DASHES, block: [['/*', '*/']], insensitive: true, noEscape: true, keywords: `
    add all alter and as asc begin between by case check collate commit constraint create cross
    database default delete desc distinct drop else end except exists foreign from full group
    having if in index inner insert intersect into is join key left like limit natural not null
    offset on or order outer over partition primary recursive references right rollback select
    set table then transaction trigger union unique update using values view when where window
    with integer text real blob sum count avg min max
  ` },
  assembly: {
    line: [';', '#'],
    block: [['/*', '*/']],
    insensitive: true,
    word: '[.%]?[A-Za-z_][\\w.]*',
    keywords: `
    section global extern bits align db dw dd dq resb resw resd resq equ times mov movzx movsx
    lea push pop add sub imul mul idiv div inc dec neg and or xor not shl shr sar cmp test jmp
    je jne jz jnz jg jge jl jle ja jae jb jbe call ret syscall int loop nop cqo cdq .globl .text
    .data .bss .section .global rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15
    eax ebx ecx edx
  ` },
  brainfuck: { comment: '[^\\[\\]<>+\\-.,]+', quotes: '', word: '[\\[\\]]', keywords: '[ ]' },
};

const SAME = {
  nasm: 'assembly', gas: 'assembly', asm: 'assembly', csharp_mono: 'csharp', cs: 'csharp',
  vb: 'visualbasic', python2: 'python', python3: 'python', pypy: 'python', pypy3: 'python',
  lisp: 'commonlisp', guile: 'scheme', js: 'javascript', ts: 'typescript', node: 'javascript',
  sqlite: 'sql', objectivec: 'objc', 'objective-c': 'objc', sh: 'bash', dash: 'bash',
  zsh: 'bash', scripts: 'bash', cxx: 'cpp', freebasic: 'basic', bf: 'brainfuck',
  standardml: 'sml', matlab: 'octave', gawk: 'awk', luajit: 'lua', vbnet: 'visualbasic',
  sbcl: 'commonlisp', gforth: 'forth',
};
