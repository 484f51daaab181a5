/** What the command line says of API keys before it has loaded anything. */

export const LONGEST_OVERLAP_SECONDS = 86_400;
