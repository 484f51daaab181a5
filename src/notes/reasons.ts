export const reasons = {
  CONFLICT: {
    NOTE_LIMIT_REACHED: 'The contact already has the maximum number of notes. Delete some of them first.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    notes: typeof reasons;
  }
}
