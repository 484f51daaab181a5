import { stylesOf } from '#libs/pages';

/**
 * The dashboard's design: its type scale and colours in addition to those of all pages, then its components.
 *
 * Controls are 36 px high, and 44 px on touch screens.
 */
const OWN_STYLE = `
:root{--text-1:.8125rem;--text-2:.9375rem;--text-3:.9375rem;--text-4:1.125rem;--text-5:1.75rem;--height:2.25rem;--good:#1a6e3c;--doubt:#8a5300}
@media (prefers-color-scheme:dark){:root{--good:#7ee0a3;--doubt:#f2c063}}
@media (pointer:coarse),(max-width:30rem){:root{--height:2.75rem}}
[hidden]{display:none!important}
main{padding:var(--space-4) 0 var(--space-5)}
::placeholder{color:var(--quiet);opacity:1}
h2{margin-bottom:var(--space-2)}.lead{max-width:42rem;margin-bottom:var(--space-3)}
.bar{border-top:4px solid var(--accent);border-bottom:1px solid var(--line)}
.bar .wide{display:flex;flex-wrap:wrap;gap:0 var(--space-3);align-items:center;max-width:none}
.bar .own{flex:1 1 6rem;display:block;align-content:center;font-weight:600;text-decoration:none;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
.bar a,.bar button{display:inline-flex;align-items:center;min-height:2.75rem;padding:0;border:0;background:none;color:var(--ink);font:inherit;cursor:pointer}.bar a:not(:hover),.bar button:not(:hover){text-decoration:none}
.seek{display:none;flex:0 1 20rem}.seek input{min-height:2rem;padding-block:.125rem;background:var(--sheet)}#found{margin:0}.beside-ways [href$="/search"]{display:none}
.frame{max-width:none}.frame main{max-width:64rem}
.ways ul{margin:0 0 var(--space-2);padding:0;list-style:none}
.ways p{margin:var(--space-2) 0 0;padding:0 var(--space-2);color:var(--quiet);font-size:var(--text-1);font-weight:600}
.ways a{display:flex;align-items:center;min-height:2rem;padding:0 var(--space-2);border-radius:0 .375rem .375rem 0;color:var(--ink);text-decoration:none}
.ways a:hover{background:var(--sheet)}
.ways a[aria-current]{background:var(--sheet);box-shadow:inset 3px 0 var(--accent);font-weight:600}
.menu summary{display:inline-flex;gap:var(--space-2);align-items:center;min-height:2.75rem;font-weight:600}.menu summary::before{content:"☰"}
.menu .ways{columns:2;column-gap:var(--space-2)}.menu .ways div{break-inside:avoid}.menu .ways a{min-height:2.25rem;padding:0 .25rem;hyphens:auto}.menu .icon{width:1.125rem;height:1.125rem;margin-right:.375rem}
.beside-ways{display:none}
.done{padding:var(--space-2) var(--space-3);border-left:4px solid var(--good);border-radius:.25rem;background:var(--sheet)}.done>:last-child,.empty>:last-child{margin-bottom:0}
.done[data-restored]{display:flex;flex-wrap:wrap;gap:var(--space-1) var(--space-3);align-items:center;justify-content:space-between;margin-bottom:var(--space-3)}.done[data-restored] p{flex:1 1 16rem;margin:0}.done[data-restored] .hint{display:inline}
.away{margin:0;padding:var(--space-2) var(--space-4);background:var(--fault);color:var(--ground);font-weight:600}
.back{margin:0 0 var(--space-2)}
.icon{flex:none;width:1.25rem;height:1.25rem;margin-right:.5rem;vertical-align:-.25rem;fill:none;stroke:currentColor;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}.ways .icon{margin-right:.4rem;stroke-width:1.35;color:var(--quiet)}.ways [aria-current] .icon{color:var(--accent)}.actions .icon{margin-left:-.25rem}
.button{min-height:var(--height);padding:calc((var(--height) - 1.5em)/2 - 1px) var(--space-3);border-width:1px;border-radius:.375rem;font-weight:600;line-height:1.5}
.plain{border-color:var(--edge);color:var(--ink)}.plain:hover{background:var(--sheet);text-decoration:none}
.final{border-color:var(--fault);background:var(--ground);color:var(--fault)}form .final{background:var(--fault);color:var(--ground)}
form .button,.copy .button{width:auto}
input:not([type=checkbox],[type=radio]),select,textarea{min-height:var(--height);padding:calc((var(--height) - 1.55em)/2 - 1px) .625rem}
input[type=file]{padding:.5rem;border-style:dashed}input:is([type=number],[type=date],[type=datetime-local],[type=color]){max-width:16rem}
.field{max-width:42rem}
.table{overflow-x:auto;margin:0 0 var(--space-3);background:linear-gradient(90deg,var(--ground) 40%,transparent) 0 0/2rem 100% no-repeat local,linear-gradient(270deg,var(--ground) 40%,transparent) 100% 0/2rem 100% no-repeat local,linear-gradient(90deg,var(--edge),transparent) 0 0/.4rem 100% no-repeat,linear-gradient(270deg,var(--edge),transparent) 100% 0/.4rem 100% no-repeat}
table{width:100%;border-collapse:collapse;overflow-wrap:break-word}
caption{text-align:left}
th,td{padding:.375rem var(--space-3) .375rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--quiet);font-size:var(--text-1);font-weight:600;white-space:nowrap}
thead a{color:inherit;text-decoration:none}thead a:hover{text-decoration:underline}[aria-sort]{color:var(--ink)}
[aria-sort=ascending] a::after{content:" ↑" / ""}[aria-sort=descending] a::after{content:" ↓" / ""}
.fits{overflow:visible;background:none}.fits thead th{position:sticky;top:0;z-index:1;background:var(--ground);box-shadow:0 1px var(--line)}.sheet .fits thead th{background:var(--sheet)}
#views{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 var(--space-3)}.views{flex:1 1 auto;min-width:0}.columns{margin:0}.columns[open]{flex-basis:100%}.columns summary{width:max-content;color:var(--quiet)}.views ul{display:flex;gap:var(--space-3);overflow-x:auto;margin:0 -.25rem var(--space-2);padding:0 .25rem;list-style:none}.views li{flex:none}.views a{display:block;max-width:18rem;padding:.4rem 0;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;color:var(--quiet);text-decoration:none}.views a:hover{text-decoration:underline}.views a[aria-current]{color:var(--ink);font-weight:600;box-shadow:inset 0 -2px var(--accent)}
.chips{display:flex;flex-wrap:wrap;gap:var(--space-1) var(--space-2);align-items:center;margin:0 0 var(--space-2);padding:0;list-style:none}
.chip{display:inline-flex;max-width:100%;padding:.125rem .625rem;border-radius:1rem;background:var(--sheet);color:var(--ink);font-size:var(--text-1);text-decoration:none;overflow-wrap:anywhere}a.chip::after{content:"×" / "";padding-left:.375rem}.chip:hover{box-shadow:inset 0 0 0 1px var(--edge)}.chip button{min-width:1.75rem;margin:-.125rem -.5rem -.125rem 0;padding:.125rem;border:0;background:none;color:inherit;font:inherit;cursor:pointer}.sheet .chip{background:var(--ground)}.sheet .table{background:none}.picker{position:relative}.picker .chip button{margin-left:.25rem}.picker [role=listbox]{position:absolute;z-index:2;inset-inline:0;top:100%;max-height:18rem;overflow-y:auto;margin:.25rem 0 0;padding:.25rem 0;border:1px solid var(--edge);border-radius:.5rem;background:var(--ground);list-style:none}.picker [role=listbox] li{display:flex;justify-content:space-between;gap:var(--space-3);margin:0;padding:.375rem .75rem;cursor:pointer}.picker [role=listbox] span{flex:none;color:var(--quiet);font-size:var(--text-1)}.picker [aria-selected=true],.picker [role=option]:hover{background:var(--sheet)}.facts dd:has(form){white-space:normal}dd .chips{margin:0}dd .field{margin-bottom:var(--space-2)}dd label{position:absolute;left:-99rem}
tbody th{min-width:9rem;max-width:26rem;font-weight:600;overflow-wrap:anywhere}
tbody th a{color:inherit;text-decoration:none}tbody th a:hover{text-decoration:underline}
tbody tr:hover{background:var(--sheet)}
tbody th:has(.tick){min-width:14rem}td.short{max-width:16rem;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}td.long{min-width:12rem;overflow-wrap:anywhere}
tbody a{display:inline-block;margin:-.25rem 0;padding:.25rem 0}
td form{display:inline-block}.said{min-width:12rem;margin:0}td .button{min-height:calc(var(--height) - .5rem);padding:0 .625rem;font-size:var(--text-1)}
.number{min-width:0;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
time{white-space:nowrap}
.choice{display:grid;grid-template-columns:auto 1fr;gap:0 var(--space-2);margin:0;align-items:center}
.choice input,.check input{width:1.25rem;height:1.25rem;min-height:0;margin:0;padding:0;accent-color:var(--accent)}
.choice label,.check label{display:flex;align-items:center;min-height:var(--height);padding:0}.check{align-items:center}.check label,.choice label{padding:.25rem 0;line-height:1.35}.checks{margin-bottom:var(--space-3)}.checks .check{margin:0}
.choice .hint{grid-column:2;margin:-.25rem 0 var(--space-2)}
.choices:has(>:nth-child(7)){columns:15rem;column-gap:var(--space-4)}.choices .choice,.choices summary{break-inside:avoid}.choices details{margin:0}
.tick{float:left;margin:-.375rem 0;padding:.375rem var(--space-3) .375rem 0}.tick input{display:block;width:1.5rem;height:1.5rem;min-height:0;margin:0;accent-color:var(--accent)}.tick+*{display:flow-root;min-height:1.5rem}
.choosing{bottom:0;display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-3);align-items:center;margin:0 0 var(--space-3);padding:var(--space-2) 0;background:var(--ground)}
form:is([data-ticked],:has(tbody :checked)) .choosing{position:sticky;border-top:1px solid var(--line)}
.choosing .button{margin:0}.choosing .tick{display:flex;gap:var(--space-2);align-items:center;margin:0}
.section{margin-top:2rem}
.actions{display:flex;flex-wrap:wrap;gap:var(--space-2);margin:0 0 var(--space-3);padding:0;list-style:none}.hint+.actions,.small+.actions{margin-top:var(--space-3)}
.actions form{height:100%}.actions form .button{margin:0}.more{position:relative;margin:0}.more summary{list-style:none;cursor:pointer}.more summary::-webkit-details-marker{display:none}.more summary::after{content:"▾";margin-left:.35em}
.more ul{position:absolute;z-index:1;min-width:100%;width:max-content;max-width:18rem;margin:var(--space-1) 0 0;padding:var(--space-1);border:1px solid var(--line);border-radius:.5rem;background:var(--ground);box-shadow:0 .5rem 1.5rem #0003;list-style:none}
.more .button:not(summary){display:flex;align-items:center;width:100%;padding:.25rem var(--space-2);border:0;background:none;font-weight:400;text-align:left}.more .button:not(summary):hover{background:var(--sheet)}.more .final{color:var(--fault)!important}
.matching{margin-bottom:var(--space-3)}.matching .field{margin:0;padding:var(--space-1) 0;border-bottom:1px solid var(--line)}.matching label{margin:0}.matching .field:not(:has(.hint)){display:grid;grid-template-columns:minmax(0,1fr) minmax(9rem,auto);gap:0 var(--space-3);align-items:center}.matching .fault{grid-column:1/-1;order:1}
.find{display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-3);align-items:end;margin:0 0 var(--space-3)}
.find .button{margin:0}
.find .field{flex:1 1 12rem;min-width:0;max-width:20rem;margin:0}.find input{max-width:100%}.find select{width:100%}
.find label{margin:0;color:var(--quiet);font-size:var(--text-1)}
.find details{flex:1 1 100%;order:1;margin:0}.find details>div{display:flex;flex-wrap:wrap;gap:var(--space-2) var(--space-3)}.find summary{width:max-content}h3{margin-bottom:var(--space-1)}
summary{min-height:var(--height);padding:.3rem 0}
.empty{padding:var(--space-4);border:1px dashed var(--edge);border-radius:.5rem;text-align:center}
.paging{display:flex;flex-wrap:wrap;gap:0 var(--space-4)}.paging a{padding:.4rem 0}.foot{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 var(--space-4)}
.facts{grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr));gap:var(--space-2) var(--space-4)}
.facts div:first-child:nth-last-child(n+5){grid-column:span 2}.facts dd{font-weight:400}
.figure{margin:0;font-size:var(--text-5);font-weight:600;font-variant-numeric:tabular-nums}
.checklist{margin:0;padding-left:1.25rem}.checklist li{padding:.2rem 0}.ticked{color:var(--quiet)}.ticked::marker{content:"✓ ";color:var(--good)}
.badge{display:inline-block;padding:0 .5rem;border:1px solid var(--edge);border-radius:1rem;font-size:var(--text-1);font-weight:600;white-space:nowrap}
.badge.good{border-color:var(--good);color:var(--good)}.badge.doubt{border-color:var(--doubt);color:var(--doubt)}.badge.bad{border-color:var(--fault);color:var(--fault)}
.past{margin:0 0 var(--space-2);padding:0;list-style:none}.past li{padding:var(--space-2) 0;border-bottom:1px solid var(--line)}
form+.small{margin-top:var(--space-2)}:is(.past li,.past .ends,h3)>a:first-child{color:inherit;font-weight:600}:is(.past li,.past .ends,h3)>a:first-child:not(:hover){text-decoration:none}.past p{margin:0}.note{white-space:pre-line;overflow-wrap:anywhere}.past p>a:only-child:not(.button){display:inline;padding:0}
progress{height:.5rem;margin-bottom:var(--space-3)}p:has(+progress){margin-bottom:var(--space-1)}
.plot{margin:0}.plot svg{display:block;width:100%;height:10rem;border-bottom:1px solid var(--line)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,14rem),1fr));gap:var(--space-3) var(--space-4)}.charts p{margin:0}.figure~.ends:has(+svg){display:none}.charts .figure~svg{height:4.5rem}.plot path{fill:none;stroke:var(--accent);stroke-width:2;vector-effect:non-scaling-stroke}.plot .goal{stroke:var(--quiet);stroke-width:1;stroke-dasharray:4}.plot rect,.shares rect{fill:var(--accent)}
.sheet{margin-bottom:var(--space-3)}.ends{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 var(--space-3);margin:0;color:var(--quiet);font-size:var(--text-1)}.past .ends{align-items:baseline;color:inherit;font-size:var(--text-2)}.past .ends time{color:var(--quiet);font-size:var(--text-1)}
.shares{margin:0 0 var(--space-4)}.shares:has(+details){margin-bottom:0}.shares tbody th{min-width:0;width:100%;max-width:none;font-weight:400}.shares td{min-width:0}.shares svg{display:block;width:100%;height:.375rem}
.sheet .choices{max-height:14rem;overflow-y:auto}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:0 var(--space-5)}
h1,h2,h3,tbody th,.button{hyphens:auto;hyphenate-limit-chars:12 5 5}thead th{hyphens:manual}
input,select,textarea,fieldset{scroll-margin-top:8rem}
.faults h2{margin-top:0}
form details{margin:0 0 var(--space-3)}
main p>a:only-child:not(.button){display:inline-block;padding:.4rem 0}
.code{overflow-x:auto;padding:var(--space-3);background:var(--sheet);border:1px solid var(--line);border-radius:.5rem;font-size:var(--text-1);white-space:pre-wrap}
.secret{font-family:ui-monospace,monospace;font-weight:600}
textarea.long{min-height:20rem}
.inserts{display:flex;flex-wrap:wrap;gap:var(--space-1);margin:0 0 var(--space-2);padding:0;list-style:none}.inserts button{min-height:calc(var(--height) - .25rem);padding:0 .75rem;border:1px solid var(--line);border-radius:1rem;background:var(--sheet);color:inherit;font:inherit;font-size:var(--text-1);cursor:pointer}.inserts button:hover{border-color:var(--edge)}
.editor{border:1px solid var(--edge);border-radius:.375rem;background:var(--ground)}
.editor:focus-within{outline:2px solid var(--accent);outline-offset:1px}
.editor [role=toolbar]{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.125rem;padding:.25rem;border-bottom:1px solid var(--line);border-radius:.375rem .375rem 0 0;background:var(--sheet)}
.editor button{min-width:2.25rem;min-height:2.25rem;padding:0 .5rem;border:0;border-radius:.25rem;background:none;color:inherit;font:inherit}
.editor button .icon{margin:0}.editor button:last-child{margin-left:auto;font-size:var(--text-1)}
.editor button:hover,.editor button[aria-pressed=true]{background:var(--line)}
.editor button:disabled{opacity:.4;background:none}
.ProseMirror{min-height:20rem;padding:var(--space-3);outline:none;white-space:pre-wrap;overflow-wrap:anywhere}
.ProseMirror>:first-child{margin-top:0}.ProseMirror li>p{margin:0}.ProseMirror img{max-width:100%}
.ProseMirror blockquote{margin-left:0;padding-left:var(--space-3);border-left:.25rem solid var(--line)}
.editor .ProseMirror a[title=button]{display:inline-block;padding:.5rem 1rem;border-radius:.375rem;background:var(--accent);color:var(--on-accent);text-decoration:none;font-weight:600}
.ProseMirror-selectednode{outline:2px solid var(--accent)}
.merge{display:inline-block;max-width:100%;padding:0 .4rem;border-radius:.25rem;background:var(--line);line-height:1.4}
.editor~.hint[role]{margin:var(--space-2) 0}
.original{margin:0 0 var(--space-2);padding:var(--space-2) var(--space-3);border-left:.25rem solid var(--line);white-space:pre-line;overflow-wrap:anywhere}
.preview .text>:first-child{margin-top:0}
.live{display:none;position:sticky;top:var(--space-3);max-height:calc(100vh - 2*var(--space-3));overflow-y:auto}.live>h2{margin:0 0 var(--space-1);color:var(--quiet);font-size:var(--text-1)}.live .preview{padding:var(--space-3)}
.preview{max-width:46rem;padding:var(--space-3) var(--space-4);border:1px solid var(--line);border-radius:.5rem}
iframe{width:100%;height:32rem;border:1px solid var(--line);border-radius:.5rem;background:#fff}
.mail{overflow-x:auto}.mail iframe{display:block;width:22.5rem;max-width:100%;height:auto;margin:0 auto var(--space-2);border-radius:0;pointer-events:none}.mail:has([value=desktop]:checked) iframe{width:40rem;max-width:none;zoom:.5}.mail .loading{position:absolute;visibility:hidden}
.mail [data-subject]{margin:0 0 var(--space-2);font-weight:600;overflow-wrap:anywhere}.widths{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 var(--space-3);align-items:center}.widths h2{margin:0 0 var(--space-2)}.widths fieldset{display:flex;margin:0 0 var(--space-2)}.widths label{position:relative;align-content:center;min-height:calc(var(--height) - .25rem);margin:0 0 0 -1px;padding:0 .75rem;border:1px solid var(--edge);font-size:var(--text-1)}.widths label:first-of-type{border-radius:.375rem 0 0 .375rem}.widths label:last-of-type{border-radius:0 .375rem .375rem 0}.widths label:has(:checked){background:var(--ink);color:var(--ground)}.widths label:has(:focus-visible){outline:2px solid var(--accent);outline-offset:2px}.widths input{position:absolute;inset:0;width:100%;height:100%;margin:0;opacity:0}
#key,#checkpoint{font-family:ui-monospace,monospace;font-size:var(--text-1)}
.picture img{width:auto;max-width:100%;max-height:20rem}.thumb{width:auto;max-width:6rem;max-height:4rem;border-radius:.375rem}
@media (max-width:30rem){
.table thead th:not(:has(a)){position:absolute;left:-99rem}.table table,.table thead,.table tbody,.table tr,.table tbody th{display:block}
.table thead tr{display:flex;gap:var(--space-3);padding-bottom:.375rem;border:0}.table thead th{position:static;padding:0;border:0;box-shadow:none;text-align:left}.table thead a{display:block}.table thead a,.chip{padding-block:.375rem}
.table tr{padding:.1rem 0;line-height:1.25;border-bottom:1px solid var(--line)}.table tbody th,.table td{max-width:calc(100% - var(--space-2));padding:0;border:0;text-align:left}
.plot svg{height:6rem}.charts .figure~svg{height:2.5rem}.charts>:not(:last-child) .figure~.ends{display:none}.share{gap:var(--space-1)}.share .button{padding-inline:.75rem}.shares{margin-bottom:var(--space-2)}.table tbody th{min-width:0;line-height:1.35}.more,.more summary{height:100%}.more{position:static}.actions{position:relative}.more ul{inset-inline:0;width:auto;max-width:none}main p>.button{margin-bottom:var(--space-1)}
.table td{display:inline-block;margin-right:var(--space-2);font-size:var(--text-1);vertical-align:top}
.table tr:has(.tick){position:relative;padding:.25rem 0 .1rem 2.25rem}.table .tick{position:absolute;left:0;margin:-.375rem 0}
.table td[data-label]::before{content:attr(data-label) " ";color:var(--quiet)}.table td:empty{display:none}
.table td{line-height:1.3}.find{margin-bottom:var(--space-1)}.lead{margin-bottom:var(--space-2);font-size:var(--text-1)}.lead:has(~#list){display:none}textarea.long,.ProseMirror{min-height:12rem}.section{margin-top:var(--space-4)}.choices{--height:2.25rem}
.actions{display:grid;grid-template-columns:repeat(2,minmax(0,1fr))}#views .actions{display:flex}.actions .icon{display:none}.actions .button{display:flex;align-items:center;justify-content:center;width:100%;height:100%;padding-inline:.25rem}.facts{grid-template-columns:repeat(2,minmax(0,1fr));column-gap:var(--space-2)}main{padding-top:var(--space-2)}
form .button{margin-bottom:var(--space-1)}
.choosing .button{padding-inline:.5rem}.find .field{max-width:none}}
@media (forced-colors:active){progress{border:1px solid CanvasText}progress::-webkit-progress-value{background:Highlight;forced-color-adjust:none}progress::-moz-progress-bar{background:Highlight;forced-color-adjust:none}.plot rect,.shares rect{fill:Highlight}.plot path{stroke:Highlight}.ways a[aria-current],.button:not(.plain),.widths label:has(:checked){border:2px solid CanvasText}.button{border:1px solid}}
@media (min-width:75rem){.beside{display:grid;grid-template-columns:minmax(0,1fr) 20rem;gap:0 var(--space-4);align-items:start;margin-bottom:var(--space-3)}.live:not([hidden]){display:block}.beside:has(.mail){grid-template-columns:minmax(0,1fr) 22.5rem}.beside:has(.mail [value=desktop]:checked){grid-template-columns:minmax(0,1fr) 30rem}.mail{position:sticky;top:var(--space-3);max-height:calc(100vh - 2*var(--space-3));overflow-y:auto}.mail:has([value=desktop]:checked) iframe{zoom:.75}}
@media (min-width:40rem){.matching .field:has(.hint){display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.4fr) 15rem;gap:0 var(--space-3);align-items:center}.matching select{width:100%}}
@media (min-width:60rem){
.frame{display:grid;grid-template-columns:15rem minmax(0,1fr);gap:0 var(--space-4)}
.seek{display:block}
.beside-ways{position:sticky;top:0;display:block;align-self:start;max-height:100vh;overflow-y:auto;padding:var(--space-3) 0}.menu{display:none}}`;

/** The stylesheet with the organization's colour. */
export const styleFor = stylesOf(OWN_STYLE);
