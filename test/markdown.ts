/** A page without its blocks of code and, unless they are kept, the code within sentences: what is left was written for people. */
export function withoutCode(text: string, { keepsInline = false } = {}): string {
  const prose = text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/<!--[^]*?-->/g, '');
  return keepsInline ? prose : prose.replaceAll(/`[^`\n]*`/g, '`code`');
}
