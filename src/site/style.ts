import { type Style, styleOf } from '#libs/pages';

/** Styles in addition to those of all pages. */
const OWN_STYLE = `
.top{padding-top:var(--space-3);padding-bottom:var(--space-3)}
.top a{display:inline-flex;align-items:center;gap:var(--space-2);min-height:2.75rem;color:var(--ink);font-weight:600;text-decoration:none}
.top a:hover{text-decoration:underline}
.top img{width:auto;height:2.5rem;border-radius:.25rem}
.foot{padding-top:var(--space-4);padding-bottom:var(--space-5);border-top:1px solid var(--line);color:var(--quiet);font-size:var(--text-1)}
.foot ul{display:flex;flex-wrap:wrap;gap:0 var(--space-4);margin:0;padding:0;list-style:none}
.foot a{display:inline-block;padding:.6rem 0;color:inherit}
.columns{display:grid;gap:var(--space-5)}
.columns>*{min-width:0}
.count{margin:0 0 var(--space-2);font-size:var(--text-4);font-weight:700;line-height:1.2}
.count small{display:block;color:var(--quiet);font-size:var(--text-2);font-weight:400}
.pair{display:grid;gap:0 var(--space-3)}.pair>*{min-width:0}.field select{width:100%}
.share{margin-top:var(--space-5)}
.share ul{display:flex;flex-wrap:wrap;gap:var(--space-2);margin:0 0 var(--space-3);padding:0;list-style:none}
.comments{margin:0;padding:0;list-style:none}
.comments li{padding:var(--space-3) 0;border-top:1px solid var(--line)}
.comments p{margin:0 0 var(--space-1);white-space:pre-line}
.list{display:grid;gap:var(--space-4);margin:0 0 var(--space-5);padding:0;list-style:none}
.list li{display:grid;overflow:hidden}
.list .sheet{padding:0}
.list .inside{padding:var(--space-4)}
.list .picture{margin:0}.list .picture img{border-radius:0;aspect-ratio:2;object-fit:cover}
.list p:last-child{margin:0}
.jump{margin:0 0 var(--space-4)}
.embed{padding:var(--space-3)}
@media (min-width:40rem){.pair{grid-template-columns:1fr 1fr;align-items:end}.list{grid-template-columns:repeat(auto-fill,minmax(18rem,1fr))}}
@media (min-width:60rem){
.columns{grid-template-columns:minmax(0,1fr) 24rem;gap:var(--space-6)}
.beside{position:sticky;top:var(--space-4);align-self:start;max-height:calc(100vh - 2rem);overflow-y:auto}
.jump{display:none}}
@media print{.sheet form,.sheet h2,.share p,.share ul,.share h2,.jump,.foot{display:none}.sheet{border:0;padding:0}.beside{position:static;overflow:visible}}`;

const styles = new Map<string, Style>();
/** At this number, the cache is cleared. Organizations can choose any colour. */
const MAX_STYLES = 1_000;

/** The stylesheet with the organization's colour. */
export function styleFor(colour: string | null): Style {
  const key = colour ?? '';
  let style = styles.get(key);
  if (!style) {
    style = styleOf(colour, OWN_STYLE);
    if (styles.size >= MAX_STYLES) styles.clear();
    styles.set(key, style);
  }
  return style;
}
