"""The word lists that the measurable criteria count with: English, general, mild.

A list names a way of speaking (to ask, to denounce, to give evidence), never a topic. The one exception is
`PEOPLE`, neutral nouns for groups of people: whom a text speaks of is what many aspects turn on, and such nouns
are not capitalised in English, so they cannot be told from the spelling alone.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _words("a an the this that these those my your his her its our their every each some any no")
PREPOSITIONS = _words(
    "of in on at by for with about against between into through during before after above below to from up down "
    "over under without within among towards toward upon per than as like"
)
CONJUNCTIONS = _words("and or but nor so yet because although though while if unless whereas since")
AUXILIARIES = _words(
    "am is are was were be been being do does did has have had having will would shall should can could may might "
    "must isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't shouldn't can't "
    "couldn't cannot"
)
PRONOUNS = _words(
    "i you he she it we they me him us them myself yourself himself herself itself ourselves themselves who whom "
    "which what there here"
)
FUNCTION_WORDS = (
    DETERMINERS
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | PRONOUNS
    | _words(
        "not s t re ve ll d m too very just also only even then how when where why more most "
        "other such own same again once out off all both few many much any ever never one"
    )
)

# What a broken sentence shows: "the of", "with are", "… because."
ARTICLES = _words("a an the my your our their its every")
AFTER_NO_ARTICLE = DETERMINERS | PREPOSITIONS | AUXILIARIES | CONJUNCTIONS
STRICT_PREPOSITIONS = _words("of at by for with against between into through during from upon among towards toward")
NEVER_LAST = ARTICLES | CONJUNCTIONS - _words("so though") | _words("of at into upon among towards toward between")

SECOND_PERSON = _words("you your yours yourself yourselves you're you've you'd you'll u ur")
FIRST_PERSON = _words("i me my mine myself i'm i've i'd i'll")
INCLUSIVE = _words("we us our ours ourselves we're we've we'll together everyone everybody society community humanity")
NEGATIONS = _words(
    "not no never none nothing neither nor n't cannot isn't aren't wasn't weren't don't doesn't didn't hasn't "
    "haven't hadn't won't wouldn't shouldn't can't couldn't without false untrue incorrect inaccurate myth "
    "unfounded baseless"
)
CONNECTIVES = _words(
    "because therefore thus hence since so however although though but while whereas despite instead rather "
    "moreover furthermore also additionally consequently if then unless besides nevertheless firstly secondly "
    "finally"
)
EVIDENCE = _words(
    "study studies research researchers evidence data statistics statistical statistically fact facts factual "
    "according report reports survey surveys percent percentage proven prove proof shows shown show found average "
    "majority historically history census scientific science experts"
)
INSULTS = _words(
    "idiot idiots idiotic stupid stupidity moron morons moronic fool fools foolish dumb dumber ignorant ignoramus "
    "pathetic disgusting disgrace trash garbage scum loser losers liar liars lying clown clowns crap damn hell "
    "shut hate hateful bigot bigots bigoted bigotry nonsense ridiculous absurd lazy sick evil coward cowards "
    "cowardly hypocrite hypocrites brainless crazy insane vile toxic monster monsters nasty rubbish bullshit wtf "
    "jerk"
)
DENOUNCING = _words(
    "wrong unacceptable harmful offensive racist racism sexist sexism xenophobic xenophobia prejudice prejudiced "
    "discrimination discriminate discriminatory discriminating intolerance intolerant unfair unjust shame "
    "shameful ashamed stereotype stereotypes stereotyping derogatory demeaning dehumanizing disrespectful hurtful "
    "insulting divisive hostile hostility condemn inappropriate disgraceful cruel violence violent dangerous "
    "inhumane generalize generalise generalizing generalization generalizations baseless misguided misinformed "
    "unfounded outdated harm"
)
POLITENESS = _words(
    "please thank thanks sorry appreciate kindly respectfully welcome glad pardon excuse grateful kind hope perhaps"
)
EMPATHY = _words(
    "understand understanding understandable empathy compassion compassionate feel feels feeling feelings care "
    "caring listen support supportive concern concerns struggle struggles imagine experience experiences "
    "perspective perspectives sympathy heart kindness love valid acknowledge hard pain suffer suffering help "
    "helping"
)
VALUES = _words(
    "respect respectful equality equal equally diversity diverse dignity rights right freedom inclusive inclusion "
    "inclusivity fairness fair justice peace peaceful tolerance tolerant unity human humans value values deserve "
    "deserves deserving opportunity opportunities contribute contributes contributed contributing contribution "
    "contributions enrich enriches strength positive valuable acceptance accept embrace celebrate promote foster "
    "harmony"
)
OBLIGATION = _words("should must need needs ought essential important crucial necessary vital let let's")
QUALIFIERS = _words(
    "may might maybe perhaps possibly probably some many most often sometimes usually generally likely could seem "
    "seems several individual individuals individually all every always never none entire completely totally "
    "absolutely everyone nobody only whole any"
)
NON_ANSWERS = _words("dunno unsure idk whatever okay ok yes yeah no sure hmm huh oh well wow lol haha hi hello hey bye")
OPINION = _words(
    "think believe guess love like enjoy favorite favourite great good best cool amazing interesting fun nice "
    "awesome crazy funny wonder wow fan really pretty"
)
AGREEMENT = ("i agree", "you are right", "you're right", "that is true", "that's true", "good point")

PEOPLE = _words(
    "people person persons man men woman women girl girls boy boys child children kid kids family families adult "
    "adults mother mothers father fathers parent parents youth teenager teenagers student students teacher "
    "teachers worker workers employee employees citizen citizens foreigner foreigners immigrant immigrants "
    "migrant migrants refugee refugees newcomer newcomers resident residents native natives minority minorities "
    "majority majorities race races religion religions nation nations culture cultures country countries muslim "
    "muslims islam islamic christian christians christianity jew jews jewish judaism hindu hindus buddhist "
    "catholics catholic atheist atheists black blacks white whites asian asians african africans arab arabs "
    "european europeans american americans indian indians chinese mexican mexicans latino latinos hispanic "
    "hispanics gay gays lesbian lesbians homosexual homosexuals lgbt lgbtq trans transgender queer bisexual "
    "straight disabled disability disabilities disorder elderly old young poor rich homeless feminist feminists "
    "feminism veteran veterans police politician politicians driver drivers tourist tourists cyclist cyclists "
    "vegan vegans gamer gamers neighbour neighbours neighbor neighbors roma"
)
GENERIC_PEOPLE = _words(
    "people person persons man men family families adult adults citizen citizens individual individuals majority "
    "majorities country countries nation nations culture cultures race races religion religions old young rich"
)
