import { stylesOf } from '#libs/pages';

/** Styles in addition to those of all pages. */
const OWN_STYLE = `
.top{padding-top:var(--space-3);padding-bottom:var(--space-3)}
.top a{display:inline-flex;align-items:center;gap:var(--space-2);min-height:2.75rem;color:var(--ink);font-weight:600;text-decoration:none}
.top a:hover{text-decoration:underline}
.top{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:0 var(--space-4)}
.languages ul{display:flex;flex-wrap:wrap;gap:0 var(--space-4);margin:0;padding:0;list-style:none;font-size:var(--text-1)}
.languages a,.languages [aria-current]{display:inline-flex;align-items:center;min-height:2.75rem;font-weight:400}
.languages a{color:var(--accent);text-decoration:underline}
.languages [aria-current]{font-weight:600}
.embed .languages{margin-bottom:var(--space-3)}
.languages:has([open]){flex-basis:100%}
.top img{width:auto;height:2.5rem;border-radius:.25rem}
.foot{padding-top:var(--space-4);padding-bottom:var(--space-5);border-top:1px solid var(--line);color:var(--quiet);font-size:var(--text-1)}
.foot ul{display:flex;flex-wrap:wrap;gap:0 var(--space-4);margin:0;padding:0;list-style:none}
.foot a{display:inline-block;padding:.6rem 0;color:inherit}
.columns{display:grid;gap:var(--space-5)}
html{scroll-padding-bottom:5rem}
h1.long{font-size:calc(var(--text-4) + .25rem)}
.sheet>h2,.embed h1{margin-bottom:var(--space-2);font-size:var(--text-3)}
.sheet progress,.embed progress{margin-bottom:var(--space-3)}
.sheet .field,.sheet .check,.embed .field,.embed .check{margin-bottom:var(--space-2)}
summary{color:var(--accent);font-weight:600}
.sharing{margin-top:var(--space-5)}
.question{border-color:var(--accent)}.question p,.question .button{margin-bottom:var(--space-2)}
.submit{margin-bottom:var(--space-2)}
.sign-bar{position:sticky;bottom:0;z-index:1;display:flex;gap:var(--space-2);align-items:center;justify-content:space-between;margin:var(--space-4) calc(-1*var(--space-4)) 0;padding:var(--space-2) var(--space-4);border-top:1px solid var(--line);background:var(--sheet)}
.sign-bar strong{font-size:var(--text-1);line-height:1.3}.sign-bar .button{flex:none;width:auto;padding:.7rem 1rem}
.columns>*{min-width:0}
.count{margin:0 0 var(--space-2);font-size:var(--text-4);font-weight:700;line-height:1.2}
.count small{display:block;color:var(--quiet);font-size:var(--text-2);font-weight:400}
.pair{display:grid;gap:0 var(--space-3)}.pair>*{min-width:0}.field select{width:100%}
.comments{margin:0;padding:0;list-style:none}
.comments li{padding:var(--space-3) 0;border-top:1px solid var(--line)}
.comments p{margin:0 0 var(--space-1);white-space:pre-line}
.wide>p+h2{margin-top:var(--space-5)}
.list{display:grid;gap:var(--space-4);align-items:start;margin:0 0 var(--space-5);padding:0;list-style:none}
.list li{display:grid;overflow:hidden}
.list .sheet{padding:0}
.list .inside{padding:var(--space-4)}
.list .picture{margin:0}.list .picture img{border-radius:0;aspect-ratio:2;object-fit:cover}
.list p:last-child,.sheet form>p:last-child{margin-bottom:0}
.paper img{float:right;margin-left:var(--space-3);background:#fff}.paper table{width:100%;table-layout:fixed;border-collapse:collapse}.paper p{overflow-wrap:anywhere}
.paper td,.paper th{padding:.2rem;border:1px solid var(--quiet);font-size:.75rem;line-height:1.25;text-align:left;overflow-wrap:anywhere}.paper td{height:10mm}
.paper th:last-child{width:22%}.paper th:nth-last-child(2){width:11%}
.embed{padding:var(--space-3)}.embed main{padding:0}
.embed h1{display:-webkit-box;overflow:hidden;-webkit-box-orient:vertical;-webkit-line-clamp:3}.embed .pair{grid-template-columns:2fr 3fr;align-items:end}
@media (max-width:30rem){h1.long{font-size:calc(var(--text-3) + .25rem)}.sign-bar{margin-inline:calc(-1*var(--space-3));padding-inline:var(--space-3)}}
@media (min-width:40rem){.pair{grid-template-columns:2fr 3fr;align-items:end}.list{grid-template-columns:repeat(auto-fill,minmax(18rem,1fr))}.list li:only-child{grid-column:1/-1;grid-auto-flow:column;grid-auto-columns:1fr}.list li:only-child :is(picture,img){display:block;height:100%}}
@media (min-width:60rem){
.columns{grid-template:auto 1fr/minmax(0,1fr) 24rem;gap:var(--space-5) var(--space-6)}
.beside{grid-area:1/2/3;position:sticky;align-self:start}
.sheet .submit{position:sticky;bottom:0;padding:var(--space-2) 0;background:var(--sheet);box-shadow:0 -.75rem .75rem var(--sheet)}
.sign-bar{display:none}}
@media print{main{padding:0}.paper{font-size:.8rem}.paper h1{font-size:1.1rem}.paper p{margin:0 0 .3rem}.paper img{width:24mm;height:24mm}.sheet form,.sheet h2,.sharing :not(.field,.field *),.sign-bar,.foot{display:none}.sheet{border:0;padding:0}.beside{position:static}}`;

/** The stylesheet with the organization's colour. */
export const styleFor = stylesOf(OWN_STYLE);
