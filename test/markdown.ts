/** The prose of a page: the text without code blocks and, unless `keepsInline`, without inline code. */
export function withoutCode(text: string, { keepsInline = false } = {}): string {
  const prose = text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/<!--[^]*?-->/g, '');
  return keepsInline ? prose : prose.replaceAll(/`[^`\n]*`/g, '`code`');
}
