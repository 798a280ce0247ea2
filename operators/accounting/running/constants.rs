//! The constants of the buffered strategy, a list for each power of two, as found by `search.rs`.

use super::buffered::Buffer;

/// The binary logarithms of the least and the largest horizon with constants.
pub(super) const LEAST: u32 = 5;
pub(super) const MOST: u32 = 32;

/// Returns the constants of the least power of two that is no less than the horizon; beyond 2^32, those of
/// 2^32.
pub(crate) fn buffers(horizon: u64) -> &'static [Buffer] {
    let power = horizon.max(1).next_power_of_two().trailing_zeros().clamp(LEAST, MOST);
    CONSTANTS[(power - LEAST) as usize]
}

/// The constants, with the losses of each list in descending order.
const CONSTANTS: [&[Buffer]; (MOST - LEAST + 1) as usize] = [
    // Up to 2^5 ticks.
    &[
        Buffer { loss: 1667267512856327936, weight: 1273578432612363776 },
        Buffer { loss: 124778806724924432, weight: 999256039353548288 },
    ],
    // Up to 2^6 ticks.
    &[
        Buffer { loss: 2455612600278059008, weight: 840732433853886080 },
        Buffer { loss: 574782775246585984, weight: 842072923215629056 },
        Buffer { loss: 48760232360946336, weight: 619451054030428288 },
    ],
    // Up to 2^7 ticks.
    &[
        Buffer { loss: 2083574631706904576, weight: 1030881725897538176 },
        Buffer { loss: 377501893115263552, weight: 787497150591515392 },
        Buffer { loss: 27785475559246480, weight: 475442207007264960 },
    ],
    // Up to 2^8 ticks.
    &[
        Buffer { loss: 1739652690439212544, weight: 1200993100425955328 },
        Buffer { loss: 242515200204013888, weight: 713961923515070720 },
        Buffer { loss: 15491782608245996, weight: 360303339958722496 },
    ],
    // Up to 2^9 ticks.
    &[
        Buffer { loss: 1438596965287684864, weight: 1337492490642012672 },
        Buffer { loss: 154701464415428736, weight: 634053403607921152 },
        Buffer { loss: 8569284551557017, weight: 271767456461541792 },
    ],
    // Up to 2^10 ticks.
    &[
        Buffer { loss: 2016249085529806080, weight: 1063281726234508672 },
        Buffer { loss: 360467616130970304, weight: 738098093866859392 },
        Buffer { loss: 51185234658119488, weight: 318075313294805824 },
        Buffer { loss: 3554136953810331, weight: 171354142798907488 },
    ],
    // Up to 2^11 ticks.
    &[
        Buffer { loss: 1760801479238418688, weight: 1189977169092488704 },
        Buffer { loss: 256549554350859648, weight: 694734628074548608 },
        Buffer { loss: 30565539397441844, weight: 264327637565621664 },
        Buffer { loss: 1925363648981918, weight: 127310268982341024 },
    ],
    // Up to 2^12 ticks.
    &[
        Buffer { loss: 1529223483736426496, weight: 1297818550656544512 },
        Buffer { loss: 182088953132969792, weight: 643925903843422848 },
        Buffer { loss: 18217466555364536, weight: 218388297728812960 },
        Buffer { loss: 1038363686615998, weight: 94382860223843088 },
    ],
    // Up to 2^13 ticks.
    &[
        Buffer { loss: 1975862752349566976, weight: 1083693654140836224 },
        Buffer { loss: 342751061739288640, weight: 731025762217975808 },
        Buffer { loss: 49153114072066432, weight: 296495212497230848 },
        Buffer { loss: 6604436571134840, weight: 116604341824905920 },
        Buffer { loss: 450010871548954, weight: 61099316467759712 },
    ],
    // Up to 2^14 ticks.
    &[
        Buffer { loss: 1773070692821764096, weight: 1184082178613229568 },
        Buffer { loss: 261188255350801280, weight: 696508519957970944 },
        Buffer { loss: 32317626937880028, weight: 258215209126460416 },
        Buffer { loss: 3798186878668898, weight: 93411733833497728 },
        Buffer { loss: 239760313325828, weight: 44922434186999816 },
    ],
    // Up to 2^15 ticks.
    &[
        Buffer { loss: 1585341833304474880, weight: 1272565362276393728 },
        Buffer { loss: 198671727143579904, weight: 656894807105272832 },
        Buffer { loss: 21245793938942904, weight: 223608620424441312 },
        Buffer { loss: 2182492917110196, weight: 74639288266846368 },
        Buffer { loss: 127371740108764, weight: 32984915611716780 },
    ],
    // Up to 2^16 ticks.
    &[
        Buffer { loss: 1413519828617065472, weight: 1347926017086631936 },
        Buffer { loss: 151068227119975200, weight: 614590040336054656 },
        Buffer { loss: 13989073538997508, weight: 192837139281619008 },
        Buffer { loss: 1255715733573466, weight: 59551355291524872 },
        Buffer { loss: 67597034682236, weight: 24212987048930224 },
    ],
    // Up to 2^17 ticks.
    &[
        Buffer { loss: 1781237302670912512, weight: 1180132235950235392 },
        Buffer { loss: 264184601814237024, weight: 698080301495477888 },
        Buffer { loss: 32916163070366876, weight: 259516057471020320 },
        Buffer { loss: 4006419413463310, weight: 91228252728539600 },
        Buffer { loss: 472196069064073, weight: 32886917749768332 },
        Buffer { loss: 29893268106395, weight: 15858085227709718 },
    ],
    // Up to 2^18 ticks.
    &[
        Buffer { loss: 1623484132942486016, weight: 1255044039007000320 },
        Buffer { loss: 210446126174281216, weight: 665530536442269440 },
        Buffer { loss: 23215246209327164, weight: 230446538261674560 },
        Buffer { loss: 2512714710657929, weight: 76218004136823840 },
        Buffer { loss: 265001881424365, weight: 25739021381673912 },
        Buffer { loss: 15722215837394, weight: 11570936978349392 },
    ],
    // Up to 2^19 ticks.
    &[
        Buffer { loss: 1476589144988536064, weight: 1321029030692413440 },
        Buffer { loss: 167546731965840032, weight: 630790542813987712 },
        Buffer { loss: 16385664914008804, weight: 203969816948242016 },
        Buffer { loss: 1577925868464748, weight: 63529584174490952 },
        Buffer { loss: 148834884541412, weight: 20125149037438492 },
        Buffer { loss: 8261624866822, weight: 8440355515485446 },
    ],
    // Up to 2^20 ticks.
    &[
        Buffer { loss: 1787064808591478784, weight: 1177302661129974528 },
        Buffer { loss: 266333350099176640, weight: 699189974626705792 },
        Buffer { loss: 33330054793900588, weight: 260604736012368672 },
        Buffer { loss: 4077266739109656, weight: 91730574620914976 },
        Buffer { loss: 496965848508744, weight: 32092029295916776 },
        Buffer { loss: 58784250171043, weight: 11586262111492210 },
        Buffer { loss: 3729811770936, weight: 5600369223569675 },
    ],
    // Up to 2^21 ticks.
    &[
        Buffer { loss: 1651067419727913472, weight: 1242213047282535168 },
        Buffer { loss: 219246764247024448, weight: 671588394477932672 },
        Buffer { loss: 24719632490829204, weight: 235491358457927296 },
        Buffer { loss: 2734222770909566, weight: 78693962896065808 },
        Buffer { loss: 301602496053394, weight: 26172845622129016 },
        Buffer { loss: 32444352949644, weight: 8936890073645862 },
        Buffer { loss: 1947660314758, weight: 4068078822674693 },
    ],
    // Up to 2^22 ticks.
    &[
        Buffer { loss: 1522944934581579520, weight: 1300673119260953856 },
        Buffer { loss: 180384213653151104, weight: 642206617406137344 },
        Buffer { loss: 18340206846076672, weight: 212262531701177824 },
        Buffer { loss: 1834957797653403, weight: 67380317183222408 },
        Buffer { loss: 183209834157265, weight: 21310464916776860 },
        Buffer { loss: 17914845192494, weight: 6888266062227449 },
        Buffer { loss: 1016263814482, weight: 2954225826519906 },
    ],
    // Up to 2^23 ticks.
    &[
        Buffer { loss: 1402810658225364480, weight: 1352405414807205120 },
        Buffer { loss: 148382239764961504, weight: 611789082718494080 },
        Buffer { loss: 13616945275997912, weight: 190927211981095264 },
        Buffer { loss: 1232893968360176, weight: 57603484418882800 },
        Buffer { loss: 111453136991049, weight: 17329330781393526 },
        Buffer { loss: 9903124202326, weight: 5307057462057422 },
        Buffer { loss: 530171586404, weight: 2145462312125839 },
    ],
    // Up to 2^24 ticks.
    &[
        Buffer { loss: 1671932900923883264, weight: 1232425721907001088 },
        Buffer { loss: 226067338658212672, weight: 676067672022398208 },
        Buffer { loss: 25908550501784908, weight: 239317527991147552 },
        Buffer { loss: 2911453949913948, weight: 80626527449706432 },
        Buffer { loss: 326440872653274, weight: 27012407347682332 },
        Buffer { loss: 36568744809982, weight: 9050008780061994 },
        Buffer { loss: 3993005728596, weight: 3116980380925596 },
        Buffer { loss: 241817652550, weight: 1432250329708019 },
    ],
    // Up to 2^25 ticks.
    &[
        Buffer { loss: 1558403028525565696, weight: 1284799132559089664 },
        Buffer { loss: 190633243314177728, weight: 650658842680537344 },
        Buffer { loss: 19956063046782692, weight: 218646108010424352 },
        Buffer { loss: 2054081532831882, weight: 70420775233642112 },
        Buffer { loss: 211055315945915, weight: 22581636091143748 },
        Buffer { loss: 21671103746218, weight: 7240906781000026 },
        Buffer { loss: 2177132397962, weight: 2376803675463801 },
        Buffer { loss: 125513769194, weight: 1036638185642536 },
    ],
    // Up to 2^26 ticks.
    &[
        Buffer { loss: 1450937008621954304, weight: 1332088410502529792 },
        Buffer { loss: 160709950826129312, weight: 624302975597428608 },
        Buffer { loss: 15377349599965894, weight: 199419875197695744 },
        Buffer { loss: 1450218454230227, weight: 61426583052348888 },
        Buffer { loss: 136579437216050, weight: 18855854603446424 },
        Buffer { loss: 12856247243817, weight: 5787658274823318 },
        Buffer { loss: 1187942940978, weight: 1811751185576816 },
        Buffer { loss: 65130944894, weight: 750288299086936 },
    ],
    // Up to 2^27 ticks.
    &[
        Buffer { loss: 1688263083614561536, weight: 1224718772136834304 },
        Buffer { loss: 231505339357536704, weight: 679512140289494528 },
        Buffer { loss: 26870855961367872, weight: 242318830404685152 },
        Buffer { loss: 3056905910086723, weight: 82155564220410384 },
        Buffer { loss: 346965065471582, weight: 27694376264630244 },
        Buffer { loss: 39370189609185, weight: 9329459954529020 },
        Buffer { loss: 4464211259255, weight: 3144669241115632 },
        Buffer { loss: 493142741264, weight: 1090424378030404 },
        Buffer { loss: 30068597587, weight: 504724548492846 },
    ],
    // Up to 2^28 ticks.
    &[
        Buffer { loss: 1586380993950863360, weight: 1272102375419231488 },
        Buffer { loss: 198989491718793248, weight: 657155678942668544 },
        Buffer { loss: 21309232034329804, weight: 223707900495931200 },
        Buffer { loss: 2242255000146458, weight: 72868486098373104 },
        Buffer { loss: 235503169061685, weight: 23625575360995532 },
        Buffer { loss: 24729588533987, weight: 7656046166952977 },
        Buffer { loss: 2595359469829, weight: 2482008421425733 },
        Buffer { loss: 266264710905, weight: 824566606105710 },
        Buffer { loss: 15543041737, weight: 364368698303682 },
    ],
    // Up to 2^29 ticks.
    &[
        Buffer { loss: 1489253578391745280, weight: 1315515258808042240 },
        Buffer { loss: 170991857283202176, weight: 633953055153069696 },
        Buffer { loss: 16902650924747352, weight: 206234322638410528 },
        Buffer { loss: 1645451092854340, weight: 64560283349578224 },
        Buffer { loss: 159942997620412, weight: 20134620256604176 },
        Buffer { loss: 15544494480412, weight: 6277017030379412 },
        Buffer { loss: 1510075733674, weight: 1957393862964976 },
        Buffer { loss: 143840403651, weight: 623335846742418 },
        Buffer { loss: 8032394780, weight: 263030160047254 },
    ],
    // Up to 2^30 ticks.
    &[
        Buffer { loss: 1396898669415461888, weight: 1354860471784096768 },
        Buffer { loss: 146912040244566304, weight: 610222247541206272 },
        Buffer { loss: 13412093191914730, weight: 189890386306121728 },
        Buffer { loss: 1208207614630830, weight: 57144749684477048 },
        Buffer { loss: 108708300992319, weight: 17145046219618232 },
        Buffer { loss: 9779845571448, weight: 5142477044189099 },
        Buffer { loss: 879529985997, weight: 1542668028456997 },
        Buffer { loss: 77768339710, weight: 471136869772537 },
        Buffer { loss: 4150958282, weight: 189893411000680 },
    ],
    // Up to 2^31 ticks.
    &[
        Buffer { loss: 1609008939084176896, weight: 1261728498150898944 },
        Buffer { loss: 205925224664822656, weight: 662298387628540800 },
        Buffer { loss: 22456361516473068, weight: 227817714823146336 },
        Buffer { loss: 2404982048432645, weight: 74880210213727936 },
        Buffer { loss: 257062885096217, weight: 24492480603032696 },
        Buffer { loss: 27471102838223, weight: 8007011381796737 },
        Buffer { loss: 2935592164238, weight: 2617431485748441 },
        Buffer { loss: 313524263524, weight: 856040505466822 },
        Buffer { loss: 32708560345, weight: 287146327034697 },
        Buffer { loss: 1928375259, weight: 128222591256220 },
    ],
    // Up to 2^32 ticks.
    &[
        Buffer { loss: 1520453636814277376, weight: 1301778992574657792 },
        Buffer { loss: 179678323814963104, weight: 641604252797538816 },
        Buffer { loss: 18230738905016744, weight: 211816862742192416 },
        Buffer { loss: 1820370305614111, weight: 67171801770311040 },
        Buffer { loss: 181475669647343, weight: 21216336758200724 },
        Buffer { loss: 18088692555532, weight: 6698507301085724 },
        Buffer { loss: 1802946965605, weight: 2114747233226984 },
        Buffer { loss: 179622473687, weight: 667864146834321 },
        Buffer { loss: 17530063027, weight: 215631141024387 },
        Buffer { loss: 993291806, weight: 92368934601115 },
    ],
];
