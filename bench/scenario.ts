/** What one process measured of one subject. */
export type Data = Readonly<Record<string, number>>;

/** One question, asked of several subjects in the same round, each in a process of its own. */
export interface Scenario {
  readonly question: string;
  /** The first one is what the others are compared with. */
  readonly subjects: readonly string[];
  readonly figures: readonly Figure[];
  /** Throws where the subject did not do its work, so that nothing that is broken is ever quick. */
  measure(subject: string): Promise<Data>;
}

/** A row of the table. */
export interface Figure {
  readonly label: string;
  readonly key: string;
  readonly digits?: number;
  readonly budgets?: readonly Budget[];
}

/** What must hold for Sluice; the median over the rounds counts. */
export interface Budget {
  readonly text: string;
  /** From what the subjects came to in one round. */
  readonly value: (round: Readonly<Record<string, Data>>) => number;
  readonly holds: (value: number) => boolean;
}

/** At most so many times what another subject takes. */
export function atMostTimes(limit: number, subject: string, key: string, note = ''): Budget {
  return {
    text: `<= ${limit}x ${subject}${note}`,
    value: (round) => (round['sluice']?.[key] ?? NaN) / (round[subject]?.[key] ?? NaN),
    holds: (value) => value <= limit,
  };
}

/** At most so many times what it takes itself at another point. */
export function atMostTimesOwn(limit: number, what: string, key: string, otherKey: string): Budget {
  return {
    text: `<= ${limit}x ${what}`,
    value: ({sluice}) => (sluice?.[key] ?? NaN) / (sluice?.[otherKey] ?? NaN),
    holds: (value) => value <= limit,
  };
}

export function atLeastTimes(limit: number, subject: string, key: string, note = ''): Budget {
  return {...atMostTimes(limit, subject, key), text: `>= ${limit}x ${subject}${note}`, holds: (value) => value >= limit};
}

export function atMost(limit: number, key: string): Budget {
  return {text: `<= ${limit}`, value: ({sluice}) => sluice?.[key] ?? NaN, holds: (value) => value <= limit};
}
