import { createHash } from 'node:crypto';
import { accentsOf, SURFACES } from './colours.js';

const BASE = `
*,::before,::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:var(--text-2)/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
h1,h2,.text{hyphens:auto}
h1,h2,h3{margin:0 0 var(--space-3);line-height:1.15;letter-spacing:-.01em;text-wrap:balance}
h1{font-size:var(--text-5)}h2{font-size:var(--text-4)}h3{font-size:var(--text-3)}
p,ul,ol,pre,blockquote,figure,dl{margin:0 0 var(--space-3)}
a{color:var(--accent);text-underline-offset:.15em}
a:hover{text-decoration-thickness:.15em}
img{display:block;max-width:100%;height:auto}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:2px}
.wide,.narrow{margin:0 auto;padding:0 var(--space-4)}
.wide{max-width:70rem}.narrow{max-width:42rem}
.skip{position:absolute;left:-99rem;padding:var(--space-2) var(--space-3);background:var(--sheet)}
.skip:focus{left:var(--space-2);top:var(--space-2);z-index:1}
main{padding:var(--space-4) 0 var(--space-6)}
.text{max-width:42rem;font-size:var(--text-3)}
.text h2,.text h3{margin-top:var(--space-5)}
.text img{border-radius:.5rem}
.text pre{white-space:pre-wrap;padding:var(--space-3);background:var(--sheet);border-radius:.5rem;font-size:var(--text-1)}
.text blockquote{margin-left:0;padding-left:var(--space-3);border-left:4px solid var(--accent)}
.text table{border-collapse:collapse}.text td,.text th{padding:var(--space-1) var(--space-2);border:1px solid var(--line);text-align:left}
.lead{font-size:var(--text-3);color:var(--quiet)}
.picture{margin:0 0 var(--space-4)}
.picture img{width:100%;border-radius:.75rem;background:var(--line)}
.facts{display:grid;gap:var(--space-3);margin:0 0 var(--space-4)}
.facts dt{color:var(--quiet);font-size:var(--text-1)}
.facts dd{margin:0;font-size:var(--text-3);font-weight:600;white-space:pre-line}
.sheet{padding:var(--space-4);background:var(--sheet);border:1px solid var(--line);border-radius:.75rem}
progress{display:block;width:100%;height:.75rem;margin:0 0 var(--space-4);border:0;border-radius:1rem;background:var(--line);overflow:hidden;accent-color:var(--accent);appearance:none}
progress::-webkit-progress-bar{background:var(--line)}
progress::-webkit-progress-value{background:var(--accent);border-radius:1rem}
progress::-moz-progress-bar{background:var(--accent);border-radius:1rem}
fieldset{min-width:0;margin:0 0 var(--space-4);padding:0;border:0}legend{padding:0;font-weight:600}
.field{margin:0 0 var(--space-3)}
.field label,.check label,legend{display:block;margin:0 0 var(--space-1);font-weight:600}
.optional{color:var(--quiet);font-size:var(--text-1);font-weight:400;line-height:1}
.hint{margin:0 0 var(--space-1);color:var(--quiet);font-size:var(--text-1)}
input:not([type=checkbox]),textarea{display:block;width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.375rem;background:var(--ground);color:inherit;font:inherit}
select{display:block;max-width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.375rem;background:var(--ground);color:inherit;font:inherit}
textarea{min-height:6rem;resize:vertical;field-sizing:content}
.check{display:grid;grid-template-columns:auto 1fr;gap:var(--space-2);align-items:start;margin:0 0 var(--space-3)}
.check input{width:1.5rem;height:1.5rem;margin:.6rem 0;accent-color:var(--accent)}
fieldset .check{margin:0}
.check label{margin:0;padding:.6rem 0;font-weight:400}
.wrong input:not([type=checkbox]),.wrong textarea,.wrong select{border-color:var(--fault);border-width:2px}
.fault{margin:0 0 var(--space-1);color:var(--fault);font-weight:600}
.faults{margin:0 0 var(--space-4);padding:var(--space-3);border:3px solid var(--fault);border-radius:.5rem}
.faults h2{font-size:var(--text-3)}.faults ul{margin:0;padding-left:1.25rem}
.faults a{color:var(--fault);font-weight:600}.faults p{margin:0}
.button{display:inline-block;min-height:2.75rem;padding:.7rem 1.5rem;border:2px solid transparent;border-radius:.5rem;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:700;text-align:center;text-decoration:none;cursor:pointer}
.button:hover{text-decoration:underline}
form .button{width:100%}
.plain{background:transparent;border-color:var(--accent);color:var(--accent)}
.small{color:var(--quiet);font-size:var(--text-1)}
.pot{position:absolute;left:-99rem;width:1px;height:1px;overflow:hidden}
.copy{display:flex;flex-wrap:wrap;gap:var(--space-2)}.copy :is(input,textarea){flex:1 1 14rem;min-width:0}
.share{display:flex;flex-wrap:wrap;gap:var(--space-2);margin:0 0 var(--space-3);padding:0;list-style:none}
.qr{margin:0 0 var(--space-3)}
summary{min-height:2.75rem;padding:.6rem 0;cursor:pointer}`;

/** Last, because they change rules of every kind. */
const MEDIA = `
@media (max-width:30rem){h1{font-size:calc(var(--text-4) + .25rem)}.wide,.narrow{padding-inline:var(--space-3)}.sheet{padding:var(--space-3)}.button{width:100%}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{h1,h2,h3,dt{break-after:avoid}.skip,.faults,.copy .button{display:none}body{background:#fff;color:#000}}`;

/** A stylesheet that is part of its page. The page's policy allows it by its hash. */
export type Style = { text: string; hash: string };

/** @param text line breaks only help readers of the source, and are removed. */
export function styleFrom(text: string): Style {
  const style = text.replaceAll('\n', '');
  return { text: style, hash: createHash('sha256').update(style).digest('base64') };
}

/**
 * The stylesheet of a site: tokens, with the organization's accent, and the components that all pages share.
 *
 * @param own the rules of the site's own components.
 */
function styleOf(colour: string | null, theme: Theme | null, own: string): Style {
  const { light, dark } = accentsOf(colour);
  const darkTokens = `:root{--ground:${SURFACES.dark[0]};--sheet:${SURFACES.dark[1]};--ink:#e9ebef;--quiet:#a9b0bb;--line:#343943;--edge:#878e99;--fault:#ffb4ab;--accent:${dark.accent};--on-accent:${dark.onAccent}}`;
  const tokens = `
:root{color-scheme:${theme ?? 'light dark'};--space-1:.25rem;--space-2:.5rem;--space-3:1rem;--space-4:1.5rem;--space-5:2.5rem;--space-6:4rem;
--text-1:1rem;--text-2:1.0625rem;--text-3:1.1875rem;--text-4:1.625rem;--text-5:2.375rem;
--ground:${SURFACES.light[0]};--sheet:${SURFACES.light[1]};--ink:#1b1f24;--quiet:#545b64;--line:#dfe2e7;--edge:#747b85;--fault:#b3261e;--accent:${light.accent};--on-accent:${light.onAccent}}
${theme === 'light' ? '' : theme === 'dark' ? darkTokens : `@media (prefers-color-scheme:dark){${darkTokens}}`}`;
  return styleFrom(tokens + BASE + own + MEDIA);
}

/** Null: the one that the reader prefers. */
type Theme = 'light' | 'dark';

/** At this number, a cache of stylesheets is cleared. Organizations can choose any colour. */
const MAX_STYLES = 1_000;

/** The stylesheets of a site, one for each accent colour and theme. They are cached. @param own see `styleOf` */
export function stylesOf(own: string): (colour: string | null, theme?: Theme | null) => Style {
  const styles = new Map<string, Style>();
  return (colour, theme = null) => {
    const key = `${colour} ${theme}`;
    let style = styles.get(key);
    if (!style) {
      style = styleOf(colour, theme, own);
      if (styles.size >= MAX_STYLES) styles.clear();
      styles.set(key, style);
    }
    return style;
  };
}
