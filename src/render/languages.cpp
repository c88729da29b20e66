#include "render/languages.h"

#include <array>

namespace reef::render {
namespace {

constexpr Quote kC[] = {{"\"", "\""}, {"'", "'"}};
constexpr Quote kJs[] = {{"`", "`", true}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kGo[] = {{"`", "`", true, false}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kTriple[] = {
    {"\"\"\"", "\"\"\"", true}, {"'''", "'''", true}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kTripleDouble[] = {{"\"\"\"", "\"\"\"", true}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kShell[] = {{"\"", "\"", true}, {"'", "'", true, false}, {"`", "`", true}};
constexpr Quote kPower[] = {{"@\"", "\"@", true, false},
                            {"@'", "'@", true, false},
                            {"\"", "\"", true, false, true},
                            {"'", "'", true, false, true}};
constexpr Quote kRust[] = {
    {"r#\"", "\"#", true, false}, {"r\"", "\"", true, false}, {"\"", "\"", true}, {"'", "'"}};
constexpr Quote kCpp[] = {{"R\"(", ")\"", true, false}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kCSharp[] = {
    {"\"\"\"", "\"\"\"", true, false}, {"@\"", "\"", true, false, true}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kSql[] = {{"'", "'", true, false, true},
                          {"\"", "\"", false, false, true},
                          {"`", "`", false, false, true}};
constexpr Quote kPascal[] = {{"'", "'", false, false, true}};
constexpr Quote kDouble[] = {{"\"", "\"", true}};
constexpr Quote kDoubleLine[] = {{"\"", "\""}};
constexpr Quote kLua[] = {{"[[", "]]", true, false}, {"\"", "\""}, {"'", "'"}};
constexpr Quote kNix[] = {{"''", "''", true, false}, {"\"", "\"", true}};
constexpr Quote kMatlab[] = {{"\"", "\"", false, false, true}, {"'", "'", false, false, true}};
constexpr Quote kToml[] = {{"\"\"\"", "\"\"\"", true},
                           {"'''", "'''", true, false},
                           {"\"", "\""},
                           {"'", "'", false, false}};
constexpr Quote kMarkup[] = {{"\"", "\"", true, false}, {"'", "'", true, false}};

using Way = Language::Way;

constexpr std::array kLanguages = {
    Language{.names = "c h",
             .files = ".c .h",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kC,
             .keywords = "alignas alignof auto break case const constexpr continue default do else "
                         "enum extern for goto if "
                         "inline register restrict return sizeof static static_assert struct "
                         "switch typedef typeof union "
                         "volatile while _Atomic _Generic _Noreturn _Static_assert _Thread_local "
                         "true false NULL nullptr",
             .types = "bool char double float int long short signed unsigned void size_t ssize_t "
                      "ptrdiff_t int8_t int16_t "
                      "int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t FILE",
             .prefix = '#'},
    Language{.names = "cpp c++ cc cxx hpp hh",
             .files = ".cpp .cc .cxx .hpp .hh .hxx .ipp .cu",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kCpp,
             .keywords = "alignas alignof and asm auto break case catch class co_await co_return "
                         "co_yield concept const "
                         "consteval constexpr constinit const_cast continue decltype default "
                         "delete do dynamic_cast else enum "
                         "explicit export extern final for friend goto if import inline module "
                         "mutable namespace new noexcept "
                         "not operator or override private protected public register "
                         "reinterpret_cast requires return sizeof "
                         "static static_assert static_cast struct switch template this throw try "
                         "typedef typeid typename union "
                         "using virtual volatile while true false nullptr",
             .types = "bool char char8_t char16_t char32_t double float int long short signed "
                      "unsigned void wchar_t size_t "
                      "ssize_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
                      "std string string_view vector "
                      "map set optional variant unique_ptr shared_ptr function span pair tuple",
             .prefix = '#'},
    Language{.names = "objc objective-c",
             .files = ".m .mm",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kC,
             .keywords = "break case const continue default do else enum extern for goto if in "
                         "inline return self static "
                         "struct super switch typedef union while YES NO nil true false",
             .types = "BOOL char double float id int long short unsigned void NSString NSArray "
                      "NSDictionary NSInteger NSObject",
             .prefix = '@'},
    Language{.names = "java",
             .files = ".java",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kTripleDouble,
             .keywords = "abstract assert break case catch class continue default do else enum "
                         "extends final finally for if "
                         "implements import instanceof interface module native new non-sealed "
                         "package permits private protected "
                         "public record return sealed static strictfp super switch synchronized "
                         "this throw throws transient try "
                         "var volatile while yield true false null",
             .types = "boolean byte char double float int long short void String Object Integer "
                      "List Map Set Optional",
             .prefix = '@'},
    Language{.names = "kotlin kt kts",
             .files = ".kt .kts",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .nested = true,
             .quotes = kTripleDouble,
             .keywords = "abstract as break by catch class companion const constructor continue "
                         "crossinline data do else enum "
                         "external final finally for fun if import in infix init inline inner "
                         "interface internal is lateinit "
                         "lazy object open operator out override package private protected public "
                         "reified return sealed super "
                         "suspend tailrec this throw try typealias val value var vararg when where "
                         "while true false null",
             .types = "Any Boolean Byte Char Double Float Int Long Nothing Short String Unit List "
                      "Map Set Array",
             .prefix = '@'},
    Language{.names = "scala",
             .files = ".scala .sc .sbt",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .nested = true,
             .quotes = kTripleDouble,
             .keywords = "abstract case catch class def derives do else end enum export extends "
                         "extension final finally for "
                         "given if implicit import lazy match new object opaque override package "
                         "private protected return sealed "
                         "super then this throw trait transparent try type using val var while "
                         "with yield true false null",
             .types = "Any AnyRef Boolean Byte Char Double Float Int Long Nothing Null Option Seq "
                      "Short String Unit List Map",
             .prefix = '@'},
    Language{
        .names = "javascript js jsx mjs cjs node",
        .files = ".js .jsx .mjs .cjs",
        .line_comments = "//",
        .block_begin = "/*",
        .block_end = "*/",
        .quotes = kJs,
        .keywords =
            "async await break case catch class const continue debugger default delete do else "
            "export extends "
            "finally for from function get if import in instanceof let new of return set static "
            "super switch this "
            "throw try typeof var void while with yield true false null undefined NaN Infinity",
        .types = "Array Boolean Date Error Function JSON Map Math Number Object Promise Proxy "
                 "RegExp Set String Symbol "
                 "WeakMap console document window globalThis process require module",
        .word_signs = "$"},
    Language{.names = "typescript ts tsx",
             .files = ".ts .tsx .mts .cts",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kJs,
             .keywords = "abstract as asserts async await break case catch class const continue "
                         "debugger declare default "
                         "delete do else enum export extends finally for from function get if "
                         "implements import in infer "
                         "instanceof interface is keyof let namespace new of override private "
                         "protected public readonly return "
                         "satisfies set static super switch this throw try type typeof var void "
                         "while with yield true false "
                         "null undefined",
             .types = "any bigint boolean never number object string symbol unknown Array Date "
                      "Error Map Partial Pick Omit "
                      "Promise Readonly Record Set console",
             .word_signs = "$",
             .prefix = '@'},
    Language{.names = "go golang",
             .files = ".go",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kGo,
             .keywords =
                 "break case chan const continue default defer else fallthrough for func go goto "
                 "if import interface "
                 "map package range return select struct switch type var true false nil iota",
             .types = "any bool byte comparable complex64 complex128 error float32 float64 int "
                      "int8 int16 int32 int64 rune "
                      "string uint uint8 uint16 uint32 uint64 uintptr append cap close copy delete "
                      "len make new panic print "
                      "println recover"},
    Language{.names = "rust rs",
             .files = ".rs",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .nested = true,
             .quotes = kRust,
             .keywords = "as async await break const continue crate dyn else enum extern fn for if "
                         "impl in let loop match mod "
                         "move mut pub ref return self Self static struct super trait type union "
                         "unsafe use where while true "
                         "false",
             .types = "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize "
                      "Box Option Some None Result "
                      "Ok Err String Vec Rc Arc HashMap",
             .prefix = '#'},
    Language{.names = "csharp cs c#",
             .files = ".cs .csx",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kCSharp,
             .keywords =
                 "abstract as async await base break case catch checked class const continue "
                 "default delegate do else "
                 "enum event explicit extern finally fixed for foreach get goto if implicit in "
                 "init interface internal "
                 "is lock namespace new operator out override params partial private protected "
                 "public readonly record "
                 "ref required return sealed set sizeof stackalloc static struct switch this throw "
                 "try typeof unchecked "
                 "unsafe using var virtual volatile when where while with yield true false null",
             .types = "bool byte char decimal double dynamic float int long nint object sbyte "
                      "short string uint ulong ushort "
                      "void Task List Dictionary",
             .prefix = '#'},
    Language{.names = "swift",
             .files = ".swift",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .nested = true,
             .quotes = kTripleDouble,
             .keywords = "actor as associatedtype async await break case catch class continue "
                         "convenience default defer deinit "
                         "do dynamic else enum extension fallthrough fileprivate final for func "
                         "get guard if import in "
                         "indirect infix init inout internal is isolated lazy let mutating "
                         "nonisolated open operator optional "
                         "override private protocol public repeat required rethrows return self "
                         "set some static struct "
                         "subscript super switch throw throws try typealias unowned var weak where "
                         "while willSet didSet true "
                         "false nil",
             .types = "Any Array Bool Character Data Dictionary Double Error Float Int Optional "
                      "Self Set String UInt Void",
             .prefix = '@'},
    Language{.names = "dart",
             .files = ".dart",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kTriple,
             .keywords = "abstract as assert async await base break case catch class const "
                         "continue covariant default deferred "
                         "do dynamic else enum export extends extension external factory final "
                         "finally for get hide if "
                         "implements import in interface is late library mixin new null on "
                         "operator part required rethrow "
                         "return sealed set show static super switch sync this throw try typedef "
                         "var when while with yield "
                         "true false",
             .types = "bool double int num Object String void Future List Map Set Stream Iterable",
             .prefix = '@'},
    Language{.names = "zig",
             .files = ".zig .zon",
             .line_comments = "//",
             .quotes = kC,
             .keywords = "align allowzero and anyframe anytype asm async await break callconv "
                         "catch comptime const continue "
                         "defer else enum errdefer error export extern fn for if inline "
                         "linksection noalias noinline nosuspend "
                         "opaque or orelse packed pub resume return struct suspend switch test "
                         "threadlocal try union "
                         "unreachable usingnamespace var volatile while true false null undefined",
             .types = "anyerror bool f16 f32 f64 f128 i8 i16 i32 i64 isize noreturn type u8 u16 "
                      "u32 u64 usize void",
             .prefix = '@'},
    Language{.names = "php",
             .files = ".php",
             .line_comments = "// #",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kShell,
             .keywords = "abstract and array as break callable case catch class clone const "
                         "continue declare default do echo "
                         "else elseif empty enum extends final finally fn for foreach function "
                         "global goto if implements "
                         "include include_once instanceof insteadof interface isset list match "
                         "namespace new or print private "
                         "protected public readonly require require_once return static switch "
                         "throw trait try unset use var "
                         "while xor yield true false null",
             .types = "bool float int iterable mixed never object self string void",
             .fold_case = true,
             .word_signs = "$"},
    Language{.names = "groovy gradle",
             .files = ".groovy .gradle Jenkinsfile",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kTriple,
             .keywords = "abstract as assert break case catch class continue def default do else "
                         "enum extends final finally for "
                         "if implements import in instanceof interface new package private "
                         "protected public return static "
                         "super switch this throw throws trait try var while true false null",
             .types = "boolean byte char double float int long short void String List Map",
             .prefix = '@'},
    Language{.names = "proto protobuf",
             .files = ".proto",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kC,
             .keywords = "enum extend extensions import map message oneof option optional package "
                         "public repeated required "
                         "reserved returns rpc service stream syntax to weak true false",
             .types = "bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 "
                      "sint32 sint64 string uint32 uint64"},
    Language{.names = "python py python3 pyi",
             .files = ".py .pyi .pyw SConstruct",
             .line_comments = "#",
             .quotes = kTriple,
             .keywords = "and as assert async await break case class continue def del elif else "
                         "except finally for from global "
                         "if import in is lambda match nonlocal not or pass raise return try type "
                         "while with yield True False "
                         "None self cls",
             .types = "bool bytes dict float frozenset int list object set str tuple type abs all "
                      "any enumerate filter format "
                      "getattr isinstance iter len map max min next open print range repr reversed "
                      "round sorted sum super zip "
                      "Exception ValueError TypeError KeyError",
             .prefix = '@'},
    Language{
        .names = "bash sh shell zsh console terminal shellsession ksh",
        .files = ".sh .bash .zsh .bashrc .zshrc .profile PKGBUILD",
        .line_comments = "#",
        .quotes = kShell,
        .keywords =
            "case coproc do done elif else esac fi for function if in select then time until while "
            "break continue "
            "return exit local declare export readonly set shift source trap unset alias eval exec",
        .types = "cd echo printf read test cat grep sed awk cut sort uniq head tail wc find xargs "
                 "mkdir rm cp mv ln ls "
                 "chmod chown curl git make sudo tar true false",
        .prefix = '$'},
    Language{.names = "fish",
             .files = ".fish",
             .line_comments = "#",
             .quotes = kShell,
             .keywords = "and begin break case continue else end for function if in not or return "
                         "set switch while",
             .types = "argparse cd contains count echo math printf read status string test",
             .prefix = '$'},
    Language{.names = "powershell ps1 pwsh",
             .files = ".ps1 .psm1 .psd1",
             .line_comments = "#",
             .block_begin = "<#",
             .block_end = "#>",
             .quotes = kPower,
             .keywords = "begin break catch class continue data do dynamicparam else elseif end "
                         "enum exit filter finally for "
                         "foreach from function hidden if in param process return static switch "
                         "throw trap try until using while",
             .types = "Get-ChildItem Get-Content Set-Content Write-Host Write-Output Where-Object "
                      "ForEach-Object Select-Object",
             .fold_case = true,
             .word_signs = "-",
             .prefix = '$'},
    Language{.names = "ruby rb",
             .files = ".rb .rake .gemspec Gemfile Rakefile Vagrantfile",
             .line_comments = "#",
             .block_begin = "=begin",
             .block_end = "=end",
             .quotes = kShell,
             .keywords = "alias and begin break case class def defined? do else elsif end ensure "
                         "false for if in module next "
                         "nil not or redo rescue retry return self super then true undef unless "
                         "until when while yield",
             .types = "attr_accessor attr_reader attr_writer extend include lambda loop private "
                      "proc protected public puts "
                      "raise require require_relative Array Hash Integer String Symbol",
             .word_signs = "?!",
             .prefix = '@'},
    Language{.names = "perl pl",
             .files = ".pl .pm .t",
             .line_comments = "#",
             .quotes = kShell,
             .keywords = "and cmp continue do else elsif eq for foreach given goto if last local "
                         "lt gt ge le my ne next no not "
                         "or our package redo require return sub unless until use when while xor",
             .types = "bless chomp chop defined delete die each eof exists grep join keys lc "
                      "length map open pop print printf "
                      "push ref reverse scalar shift sort splice split sprintf substr uc undef "
                      "unshift values wantarray warn",
             .prefix = '$'},
    Language{.names = "r rscript",
             .files = ".r .R .Rmd",
             .line_comments = "#",
             .quotes = kC,
             .keywords = "break else for function if in next repeat return while TRUE FALSE NULL "
                         "NA NaN Inf library require",
             .types = "c character data.frame factor integer list logical matrix numeric vector",
             .word_signs = "."},
    Language{.names = "lua",
             .files = ".lua",
             .line_comments = "--",
             .block_begin = "--[[",
             .block_end = "]]",
             .quotes = kLua,
             .keywords = "and break do else elseif end false for function goto if in local nil not "
                         "or repeat return then true "
                         "until while",
             .types = "assert error ipairs io math next os pairs pcall print require select "
                      "setmetatable string table "
                      "tonumber tostring type"},
    Language{
        .names = "elixir ex exs",
        .files = ".ex .exs",
        .line_comments = "#",
        .quotes = kTripleDouble,
        .keywords = "after and case catch cond def defmacro defmodule defp defprotocol defstruct "
                    "do else end false fn for "
                    "if import in nil not or quote raise receive require rescue true try unless "
                    "unquote use when with",
        .types = "Agent Enum GenServer IO Kernel List Map Process Stream String Supervisor Task",
        .word_signs = "?!",
        .prefix = '@'},
    Language{.names = "erlang erl",
             .files = ".erl .hrl",
             .line_comments = "%",
             .quotes = kC,
             .keywords = "after and andalso band begin bnot bor bsl bsr bxor case catch cond div "
                         "end fun if let maybe not of or "
                         "orelse receive rem try when xor true false undefined",
             .types = "export module include define record spec type"},
    Language{.names = "haskell hs",
             .files = ".hs .lhs",
             .line_comments = "--",
             .block_begin = "{-",
             .block_end = "-}",
             .nested = true,
             .quotes = kDoubleLine,
             .keywords = "as case class data default deriving do else family forall foreign hiding "
                         "if import in infix infixl "
                         "infixr instance let module newtype of qualified then type where",
             .types = "Bool Char Double Either Float IO Int Integer Just Left Maybe Nothing Right "
                      "String True False Show Eq Ord "
                      "Functor Monad",
             .word_signs = "'"},
    Language{.names = "ocaml ml",
             .files = ".ml .mli",
             .line_comments = "",
             .block_begin = "(*",
             .block_end = "*)",
             .nested = true,
             .quotes = kDouble,
             .keywords = "and as assert begin class constraint do done downto else end exception "
                         "external false for fun "
                         "function functor if in include inherit initializer lazy let match method "
                         "module mutable new nonrec "
                         "object of open or private rec sig struct then to true try type val "
                         "virtual when while with",
             .types = "array bool char float int list option result string unit Some None Ok Error",
             .word_signs = "'"},
    Language{.names = "fsharp fs f#",
             .files = ".fs .fsi .fsx",
             .line_comments = "//",
             .block_begin = "(*",
             .block_end = "*)",
             .nested = true,
             .quotes = kTripleDouble,
             .keywords =
                 "abstract and as async assert base begin class default delegate do done downcast "
                 "else elif end "
                 "exception extern false finally for fun function if in inherit inline interface "
                 "internal lazy let "
                 "match member module mutable namespace new not null of open or override private "
                 "public rec return "
                 "static struct task then to true try type upcast use val when while with yield",
             .types = "bool byte char decimal float int int64 list option seq string unit Some "
                      "None Ok Error"},
    Language{
        .names = "clojure clj cljs edn",
        .files = ".clj .cljs .cljc .edn",
        .line_comments = ";",
        .quotes = kDouble,
        .keywords = "case cond cond-> def defmacro defmethod defmulti defn defn- defprotocol "
                    "defrecord do doseq dotimes "
                    "fn for if if-let if-not let letfn loop ns quote recur require throw try catch "
                    "finally when when-let "
                    "when-not true false nil",
        .types =
            "assoc atom concat conj count filter first get map merge reduce rest str swap! vec",
        .word_signs = "-?!*+<>=&"},
    Language{.names = "lisp elisp emacs-lisp scheme scm racket common-lisp",
             .files = ".lisp .el .scm .rkt .ss",
             .line_comments = ";",
             .block_begin = "#|",
             .block_end = "|#",
             .nested = true,
             .quotes = kDouble,
             .keywords = "and begin case cond cons define define-syntax defmacro defun defvar do "
                         "else if lambda let let* letrec "
                         "loop or progn quote require set! setq unless when while nil t",
             .types = "append apply car cdr eq equal format length list map mapcar not null print",
             .word_signs = "-?!*+<>=/"},
    Language{
        .names = "julia jl",
        .files = ".jl",
        .line_comments = "#",
        .block_begin = "#=",
        .block_end = "=#",
        .nested = true,
        .quotes = kTripleDouble,
        .keywords = "abstract baremodule begin break catch const continue do else elseif end "
                    "export finally for function "
                    "global if import in isa let local macro module mutable primitive quote return "
                    "struct try type using "
                    "where while true false nothing missing",
        .types =
            "Any Array Bool Char Dict Float32 Float64 Int Int64 Number String Symbol Tuple Vector",
        .word_signs = "!",
        .prefix = '@'},
    Language{.names = "matlab octave",
             .files = "",
             .line_comments = "% #",
             .block_begin = "%{",
             .block_end = "%}",
             .quotes = kMatlab,
             .keywords = "break case catch classdef continue else elseif end endfunction endif for "
                         "function global if "
                         "otherwise parfor persistent return switch try until while true false",
             .types = "cell char double int32 logical numel ones rand single size struct zeros"},
    Language{
        .names = "fortran f90",
        .files = ".f90 .f95 .f03 .f",
        .line_comments = "!",
        .quotes = kMatlab,
        .keywords =
            "allocate call case contains cycle deallocate do else elseif end enddo endif exit "
            "function if implicit "
            "in inout intent interface module none only out parameter print private procedure "
            "program public pure "
            "read recursive result return select stop subroutine then type use where while write",
        .types = "character complex dimension double integer logical precision real",
        .fold_case = true},
    Language{.names = "pascal delphi",
             .files = ".pas .pp .dpr",
             .line_comments = "//",
             .block_begin = "{",
             .block_end = "}",
             .quotes = kPascal,
             .keywords = "and array as begin case class const constructor destructor div do downto "
                         "else end except finally for "
                         "function if implementation in inherited interface is mod nil not object "
                         "of or procedure program "
                         "property record repeat set shl shr then to try type unit until uses var "
                         "while with xor true false",
             .types = "boolean byte cardinal char double integer longint pointer real string word",
             .fold_case = true},
    Language{.names = "ada",
             .files = ".adb .ads",
             .line_comments = "--",
             .quotes = kDoubleLine,
             .keywords =
                 "abort abs accept access all and array at begin body case constant declare delay "
                 "delta do else elsif "
                 "end entry exception exit for function generic goto if in is limited loop mod new "
                 "not null of or "
                 "others out package pragma private procedure protected raise range record rem "
                 "renames return reverse "
                 "select separate subtype task terminate then type until use when while with xor",
             .types = "Boolean Character Duration Float Integer Natural Positive String",
             .fold_case = true},
    Language{.names = "elm",
             .files = ".elm",
             .line_comments = "--",
             .block_begin = "{-",
             .block_end = "-}",
             .nested = true,
             .quotes = kTripleDouble,
             .keywords = "alias as case else exposing if import in let module of port then type "
                         "where True False",
             .types = "Bool Cmd Dict Float Html Int List Maybe Msg Result String Sub"},
    Language{.names = "nix",
             .files = ".nix",
             .line_comments = "#",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kNix,
             .keywords = "assert else if in inherit let or rec then with true false null",
             .types = "abort builtins derivation fetchGit fetchTarball import map throw toString",
             .word_signs = "-"},
    Language{.names = "sql sqlite postgresql postgres mysql plpgsql",
             .files = ".sql",
             .line_comments = "--",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kSql,
             .keywords = "add all alter analyze and any as asc begin between by cascade case check "
                         "column commit conflict "
                         "constraint create cross database default delete desc distinct do drop "
                         "else end except exists explain "
                         "fetch filter for foreign from full function grant group having if ilike "
                         "in index inner insert "
                         "intersect into is join key lateral left like limit not nothing null "
                         "offset on or order outer over "
                         "partition pragma primary procedure recursive references replace restrict "
                         "returning returns revoke "
                         "right rollback row rows select set table then to transaction trigger "
                         "truncate union unique update "
                         "using vacuum values view when where window with true false",
             .types = "bigint bigserial blob boolean bytea char character date decimal double "
                      "integer int interval json jsonb "
                      "numeric real serial smallint text time timestamp timestamptz uuid varchar "
                      "avg coalesce count max min "
                      "now sum",
             .fold_case = true},
    Language{.names = "graphql gql",
             .files = ".graphql .gql",
             .line_comments = "#",
             .quotes = kTripleDouble,
             .keywords = "directive enum extend fragment implements input interface mutation on "
                         "query scalar schema "
                         "subscription type union true false null",
             .types = "Boolean Float ID Int String",
             .prefix = '@'},
    Language{.names = "terraform hcl tf",
             .files = ".tf .hcl .tfvars",
             .line_comments = "# //",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kDoubleLine,
             .keywords = "data dynamic for for_each if in locals module output provider resource "
                         "terraform variable true false "
                         "null",
             .types = "any bool list map number object set string tuple"},
    Language{.names = "css scss sass less",
             .files = ".css .scss .sass .less",
             .line_comments = "",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kC,
             .keywords = "important import media supports from to and not only keyframes charset "
                         "include mixin extend if else "
                         "each for return var calc",
             .types = "auto block flex grid inherit initial none absolute relative fixed sticky "
                      "hidden solid transparent",
             .word_signs = "-",
             .prefix = '@'},
    Language{.names = "json json5 jsonc jsonl ndjson geojson",
             .files = ".json .json5 .jsonc .jsonl .ndjson .ipynb",
             .line_comments = "//",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kDoubleLine,
             .keywords = "true false null",
             .way = Way::settings},
    Language{.names = "yaml yml",
             .files = ".yaml .yml",
             .line_comments = "#",
             .quotes = kC,
             .keywords = "true false null yes no on off",
             .word_signs = "-",
             .way = Way::settings},
    Language{.names = "toml",
             .files = ".toml Cargo.lock",
             .line_comments = "#",
             .quotes = kToml,
             .keywords = "true false inf nan",
             .word_signs = "-",
             .way = Way::settings},
    Language{.names = "ini conf config env properties dotenv systemd editorconfig",
             .files = ".ini .conf .cfg .env .properties .service .timer .socket .desktop",
             .line_comments = "# ;",
             .quotes = kC,
             .keywords = "true false yes no on off",
             .word_signs = "-",
             .way = Way::settings},
    Language{.names = "makefile make mk",
             .files = ".mk Makefile makefile GNUmakefile",
             .line_comments = "#",
             .quotes = kC,
             .keywords = "define else endef endif export ifdef ifeq ifndef ifneq include override "
                         "unexport vpath",
             .types = "addprefix addsuffix call dir eval filter foreach if notdir patsubst shell "
                      "subst wildcard",
             .word_signs = ".-",
             .prefix = '$'},
    Language{.names = "cmake",
             .files = ".cmake CMakeLists.txt",
             .line_comments = "#",
             .block_begin = "#[[",
             .block_end = "]]",
             .quotes = kDouble,
             .keywords =
                 "if else elseif endif foreach endforeach while endwhile function endfunction "
                 "macro endmacro return "
                 "break continue AND OR NOT MATCHES STREQUAL VERSION_LESS EXISTS TRUE FALSE ON OFF",
             .types = "PUBLIC PRIVATE INTERFACE REQUIRED COMPONENTS STATIC SHARED OBJECT",
             .fold_case = false,
             .prefix = '$'},
    Language{.names = "dockerfile docker containerfile",
             .files = "Dockerfile Containerfile",
             .line_comments = "#",
             .quotes = kC,
             .keywords = "add arg as cmd copy entrypoint env expose from healthcheck label "
                         "maintainer onbuild run shell "
                         "stopsignal user volume workdir",
             .fold_case = true,
             .prefix = '$'},
    Language{.names = "nginx caddy caddyfile",
             .files = "nginx.conf Caddyfile",
             .line_comments = "#",
             .quotes = kC,
             .keywords = "events http if include listen location proxy_pass return rewrite root "
                         "server server_name set upstream "
                         "reverse_proxy handle on off",
             .prefix = '$'},
    Language{
        .names = "awk gawk",
        .files = ".awk",
        .line_comments = "#",
        .quotes = kDoubleLine,
        .keywords = "BEGIN END break continue delete do else exit for function getline if in next "
                    "nextfile print printf "
                    "return while",
        .types =
            "FS NF NR OFS ORS RS gsub index length match split sprintf sub substr tolower toupper",
        .prefix = '$'},
    Language{.names = "vim viml vimscript",
             .files = ".vim .vimrc",
             .line_comments = "",
             .quotes = kPascal,
             .keywords = "augroup autocmd call command echo else elseif endfor endfunction endif "
                         "endwhile execute finish for "
                         "function if let map nnoremap inoremap noremap normal return set setlocal "
                         "syntax unlet while"},
    Language{.names = "asm assembly nasm gas",
             .files = ".s .S .asm",
             .line_comments = "; # //",
             .block_begin = "/*",
             .block_end = "*/",
             .quotes = kC,
             .keywords =
                 "add and bl b call cmp dec div idiv imul inc int ja jb je jg jl jle jge jmp jne "
                 "jnz jz ldr lea leave "
                 "mov movzx mul neg nop not or pop push ret sar shl shr str sub syscall test xor",
             .types = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 eax ebx ecx "
                      "edx al x0 x1 x2 sp lr pc",
             .fold_case = true,
             .word_signs = ".",
             .prefix = '%'},
    Language{.names = "latex tex bibtex",
             .files = ".tex .sty .bib .cls",
             .line_comments = "%",
             .keywords = "",
             .prefix = '\\'},
    Language{.names = "html xml svg xhtml vue svelte rss plist",
             .files = ".html .htm .xml .svg .xhtml .vue .svelte .plist .xsd",
             .line_comments = "",
             .block_begin = "<!--",
             .block_end = "-->",
             .quotes = kMarkup,
             .way = Way::markup},
    Language{.names = "diff patch udiff",
             .files = ".diff .patch",
             .line_comments = "",
             .way = Way::diff},
};

}  // namespace

std::span<const Language> languages() {
  return kLanguages;
}

}  // namespace reef::render
